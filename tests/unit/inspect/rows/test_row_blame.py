"""Which commit last set each value of a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.cli.main import run
from explorer.errors import CancelledError, InvalidArgumentError
from explorer.progress import Cancel
from tests.change_feeds import Feed, hiding
from tests.data_tables import field, struct
from tests.demo_story import LATELY, copy_demo
from tests.tables import FEATURE_PROTOCOL, add, metadata, remove

PLAIN = metadata(
    schemaString=json.dumps(struct(field("id", "long"), field("v", "long"), field("w", "long")))
)


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    return Feed(tmp_path / "t", PLAIN)


def blame(feed: Feed, where: str = "id = 2", **options: Any) -> look.RowBlame:
    return look.blame_row(explorer.open_table(feed.folder.root), where, **options)


def told(found: look.RowBlame) -> dict[str, tuple[str, int | None]]:
    rows = found.cells.to_pylist()
    return {row["column"]: (row["kind"], row["version"]) for row in rows}


def changed_twice(feed: Feed) -> None:
    """Version 1 inserts ids 1 and 2, 2 changes v of 2, 3 rewrites it, 4 changes its neighbour."""
    feed.file("a", id=[1, 2], v=[0, 0], w=[0, 0])
    feed.file("b", id=[1, 2], v=[0, 5], w=[0, 0])
    feed.file("c", id=[2], v=[5], w=[0])
    feed.file("d", id=[1], v=[9], w=[0])
    feed.commit({"commitInfo": {"operation": "WRITE", "userName": "ana"}}, add("a"))
    feed.commit({"commitInfo": {"operation": "UPDATE", "userName": "ben"}}, remove("a"), add("b"))
    feed.commit(remove("b"), add("b", **hiding(1)), add("c"))
    feed.commit(remove("b", **hiding(1)), add("d"))


def test_each_value_is_that_of_the_commit_that_last_changed_it(feed: Feed) -> None:
    changed_twice(feed)
    found = blame(feed)
    assert told(found) == {"id": ("inserted", 1), "v": ("changed", 2), "w": ("inserted", 1)}
    assert found.cells["user_name"].to_pylist() == ["ana", "ben", "ana"]
    assert found.sentence.startswith(
        "Version 2 (UPDATE, ben) changed v; the other values are from 1 older version."
    )
    assert told(blame(feed, version=1))["v"] == ("inserted", 1)
    assert told(blame(feed, columns=["v"])) == {"v": ("changed", 2)}


def test_a_row_is_followed_far_back_span_by_span(feed: Feed) -> None:
    changed_twice(feed)
    for at in range(70):
        feed.file(f"e{at}", id=[100 + at], v=[0], w=[0])
        stats = {"numRecords": 1, "minValues": {"id": 100 + at}, "maxValues": {"id": 100 + at}}
        feed.commit(add(f"e{at}", stats=json.dumps(stats)))
    found = blame(feed)
    assert told(found) == {"id": ("inserted", 1), "v": ("changed", 2), "w": ("inserted", 1)}
    assert told(blame(feed, "id = 169"))["v"] == ("inserted", 74)
    assert blame(feed, "id = 169").first > 0


def test_a_column_that_was_added_after_the_row_is_null_since_then(feed: Feed) -> None:
    changed_twice(feed)
    named = [field(name, "long") for name in ("id", "v", "w", "x", "y", "z")]
    for at in (4, 5):
        columns = metadata(schemaString=json.dumps(struct(*named[:at])))
        feed.commit({"commitInfo": {"operation": "ADD COLUMNS", "userName": "eve"}}, columns)
    for _ in range(40):  # so that it is found out in another span
        feed.commit({"commitInfo": {"operation": "WRITE"}})
    feed.file("e", id=[2], v=[5], w=[0], y=[7])
    feed.commit(remove("c"), add("e"))
    feed.commit(metadata(schemaString=json.dumps(struct(*named))))
    found = blame(feed)
    assert told(found) == {
        "id": ("inserted", 1),
        "v": ("changed", 2),
        "w": ("inserted", 1),
        "x": ("column added", 5),
        "y": ("changed", 47),
        "z": ("column added", 48),
    }
    (cell,) = [row for row in found.cells.to_pylist() if row["column"] == "x"]
    assert (cell["operation"], cell["user_name"]) == ("ADD COLUMNS", "eve")
    assert cell["reason"] == "version 5 added the column; it has been null in this row since"
    assert cell["timestamp"] is not None
    assert "x, z were added later, and have been null since" in found.sentence
    # also where nothing says any more who inserted the row
    (feed.folder.root / "a").unlink()
    assert told(blame(feed))["z"] == ("column added", 48)
    # a row that was written with the column has null from its writer
    feed.file("f", id=[6], v=[5], w=[0], z=[1])
    feed.commit(add("f"))
    assert told(blame(feed, "id = 6"))["x"] == ("inserted", 49)


def test_what_is_not_known_says_why(feed: Feed) -> None:
    changed_twice(feed)
    cut = blame(feed, most_files=0)
    assert cut.is_cut
    assert set(told(cut).values()) == {("unknown", None)}
    assert "limit of files" in cut.sentence
    (feed.folder.root / "a").unlink()
    gone = blame(feed)
    assert told(gone)["v"][0] == "unknown"
    assert "could not be read" in gone.sentence


def test_files_of_the_version_before_a_span_are_not_read(feed: Feed) -> None:
    """They hold no change; a limit of files is spent on those that commits touched."""
    for at in range(3):
        feed.file(f"n{at}", id=[90 + at], v=[0], w=[0])
        feed.commit(add(f"n{at}"))
    for _ in range(70):
        feed.commit({"commitInfo": {"operation": "WRITE"}})
    feed.file("a", id=[2], v=[0], w=[0])
    feed.commit(add("a"))
    found = blame(feed, most_files=1)
    assert (found.files_read, found.is_cut, found.first) == (1, False, 43)
    assert told(found)["v"] == ("inserted", 74)


@pytest.mark.parametrize(
    ("operation", "kind", "says"),
    [
        ("UPDATE", ("unknown", None), "version 2 changed the row so that it matches"),
        ("MERGE", ("inserted", 2), "version 2 was a MERGE"),
        ("WRITE", ("inserted", 2), None),
    ],
)
def test_a_row_that_did_not_match_before_an_update_was_not_inserted_by_it(
    feed: Feed, operation: str, kind: tuple[str, int | None], says: str | None
) -> None:
    feed.file("a", id=[1, 2], v=[0, 0], w=[0, 0])
    feed.commit(add("a"))
    feed.file("b", id=[1, 2], v=[0, 5], w=[0, 0])
    feed.commit({"commitInfo": {"operation": operation}}, remove("a"), add("b"))
    found = blame(feed, "v = 5")
    assert told(found)["id"] == kind
    reason = found.cells["reason"][0].as_py()
    assert reason is None if says is None else says in reason


def test_a_log_that_was_cleaned_knows_what_it_still_has(feed: Feed) -> None:
    changed_twice(feed)
    place = feed.folder
    actions = [json.loads(line) for line in (place.log / f"{0:020}.json").read_text().splitlines()]
    place.checkpoint(1, [*actions, add("a")])
    for version in (0, 1):
        (place.log / f"{version:020}.json").unlink()
    found = blame(feed)
    assert told(found) == {"id": ("unknown", None), "v": ("changed", 2), "w": ("unknown", None)}
    assert "the log before that is gone" in found.cells["reason"][0].as_py()


def test_a_version_before_a_gap_of_the_log_is_searched_by_the_commits_before_it(
    feed: Feed,
) -> None:
    changed_twice(feed)
    place = feed.folder
    place.checkpoint(6, [FEATURE_PROTOCOL, PLAIN, add("b", **hiding(0, 1)), add("c"), add("d")])
    place.commit(7, [{"commitInfo": {"operation": "WRITE"}}])
    found = blame(feed, version=4)
    assert (found.first, told(found)["v"], told(found)["w"]) == (0, ("changed", 2), ("inserted", 1))
    assert blame(feed, version=6).first == 7
    assert set(told(blame(feed, version=7)).values()) == {("unknown", None)}


@pytest.mark.parametrize("where", ["id = 77", "id < 9", "nope = 1"])
def test_the_condition_has_to_mean_one_row(feed: Feed, where: str) -> None:
    changed_twice(feed)
    with pytest.raises(InvalidArgumentError):
        blame(feed, where)


def test_it_can_be_cancelled(feed: Feed) -> None:
    changed_twice(feed)
    cancel = Cancel()
    with pytest.raises(CancelledError):
        blame(feed, progress=lambda _: cancel.cancel(), cancel=cancel)


@pytest.mark.slow
def test_rows_of_the_demo_are_blamed_as_every_version_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = copy_demo(tmp_path / "demo", LATELY)
    table = explorer.open_table(place)
    end = table.snapshot()
    key = end.schema.names[0]
    row = explorer.preview(end, limit=1).rows.to_pylist()[0]
    where = f"{key} = {row[key]}"
    versions = {}
    before: dict[str, Any] | None = None
    for version in range(end.version + 1):
        try:
            rows = explorer.read_rows(table.snapshot(version=version), where=where).to_pylist()
        except explorer.errors.DeltaError:
            continue
        now = rows[0] if rows else None
        for name in end.schema.names:
            if now is None or name not in now:
                continue
            if before is None or name not in before or before[name] != now[name]:
                versions[name] = version
        before = now
    assert run(["rows", str(place), where, "--blame", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {cell["column"]: cell["version"] for cell in cells} == versions
