"""Catalogs, the search for tables, and what is known of each at a glance."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import DeltaError, InvalidArgumentError
from explorer.progress import Watch
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets.screens.start._parts import (
    build_summary_row,
    columns_below,
    count_findings,
    filter_summaries,
    shared_folder,
    sort_summaries,
    sum_up,
)
from widgets.session import catalog as catalogs
from widgets.session.catalog import Offered, parse_catalog, read_catalog, scan_tables
from widgets.session.table_summaries import AT_ONCE, TableSummaries, TableSummary

SECRET = "hunter2"


def make_table(place: Path, versions: int = 1) -> Path:
    log = LogFolder(place)
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet", size=10)])
    for version in range(1, versions):
        log.commit(version, [add(f"{version}.parquet", size=10)])
    return place


YAML = """
tables:
  - uri: s3://lake/orders
    name: Orders
    storage_options: {key: "${KEY}", secret: "x${KEY}y", nested: {a: "${KEY}"}}
  - /lake/customers
roots: [s3://lake/archive]
"""
TOML = """
roots = ["s3://lake/archive"]
[[tables]]
uri = "s3://lake/orders"
name = "Orders"
storage_options = {key = "${KEY}", secret = "x${KEY}y", nested = {a = "${KEY}"}}
[[tables]]
uri = "/lake/customers"
"""


@pytest.mark.parametrize(("suffix", "text"), [("yaml", YAML), ("toml", TOML)])
def test_both_forms_of_a_catalog_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, text: str
) -> None:
    monkeypatch.setenv("KEY", SECRET)
    place = tmp_path / f"catalog.{suffix}"
    place.write_text(text)
    found = read_catalog(place)
    assert [(one.target, one.name) for one in found.tables] == [
        ("s3://lake/orders", "Orders"),
        ("/lake/customers", ""),
    ]
    assert found.tables[0].storage_options == {
        "key": SECRET,
        "secret": f"x{SECRET}y",
        "nested": {"a": SECRET},
    }
    assert found.places() == ("s3://lake/orders", "/lake/customers", "s3://lake/archive")
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "document",
    [[], "x", None, {"table": []}, {"tables": "x"}, {"tables": [1]}, {"tables": [{"name": "x"}]},
     {"tables": [{"uri": "/a", "key": SECRET}]}, {"tables": [{"uri": "/a", "name": 1}]},
     {"tables": [{"uri": "/a", "storage_options": [SECRET]}]}, {"roots": [1]},
     {"tables": [""]}, {"tables": [{"uri": "/a", "storage_options": {"k": "${NOT_THERE}"}}]}],
)  # fmt: skip
def test_a_catalog_that_is_none_is_refused_without_repeating_it(document: Any) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        parse_catalog(document, "catalog.yaml", {})
    assert SECRET not in str(error.value.as_dict())


@pytest.mark.parametrize("name", ["x.yaml", "x.toml"])
def test_a_broken_file_is_refused_without_quoting_it(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.write_text(f'key = "{SECRET}\n  : [}} {SECRET}')
    with pytest.raises(InvalidArgumentError) as error:
        read_catalog(place)
    assert SECRET not in str(error.value.as_dict())
    assert error.value.__cause__ is None


def test_the_list_counts_findings_filters_by_one_and_sorts_by_what_can_be_saved() -> None:
    few = TableSummary(shown="/a", name="a", findings=("wrong hint",), files_saved=2)
    many = TableSummary(shown="/b", name="b", findings=("wrong hint", "small files"), files_saved=9)
    unknown = TableSummary(shown="/c", name="c")
    every = [few, unknown, many]
    assert count_findings(every) == [("wrong hint", 2), ("small files", 1)]
    assert filter_summaries(every, "", "small files") == [many]
    assert filter_summaries(every, "a", "wrong hint") == [few]
    assert sort_summaries(every, ("saved", True)) == [many, few, unknown]


def test_a_table_of_many_small_files_says_what_a_compaction_saves(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "small")
    log.commit(0, [PROTOCOL, metadata(), *(add(f"{n}.parquet", size=10) for n in range(20))])
    summaries = TableSummaries([Offered(target=str(log.root))])
    summaries.follow(lambda: None)
    (found,) = settled(summaries)
    assert (found.files_saved, found.findings) == (19, ("small files",))
    assert found.severity is None


def test_tables_are_found_below_a_folder_and_not_within_tables(tmp_path: Path) -> None:
    for inside in ("a", "deep/er/b", "a/inner", "_hidden/c", ".hidden/d", "plain/file"):
        (tmp_path / inside).mkdir(parents=True)
    for table in ("a", "deep/er/b", "a/inner", "_hidden/c", ".hidden/d"):
        make_table(tmp_path / table)
    (tmp_path / "link").symlink_to(tmp_path / "deep")
    found = [one.target for one in scan_tables(str(tmp_path), None, Watch())]
    assert found == [f"{tmp_path}/a", f"{tmp_path}/deep/er/b"]


def test_a_root_that_is_a_table_is_found_itself(tmp_path: Path) -> None:
    make_table(tmp_path / "t")
    found = [one.target for one in scan_tables(str(tmp_path / "t"), None, Watch())]
    assert found == [str(tmp_path / "t")]


def test_a_search_ends_where_there_is_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        make_table(tmp_path / f"t{number}")
    monkeypatch.setattr(catalogs, "MOST_TABLES", 5)
    assert len(list(scan_tables(str(tmp_path), None, Watch()))) == 5
    monkeypatch.setattr(catalogs, "MOST_FOLDERS", 3)
    assert len(list(scan_tables(str(tmp_path), None, Watch()))) == 2  # the root is a folder too
    monkeypatch.setattr(catalogs, "DEEPEST", 0)
    assert list(scan_tables(str(tmp_path), None, Watch())) == []


def test_a_root_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(DeltaError):
        list(scan_tables(str(tmp_path / "nowhere"), None, Watch()))


def settled(summaries: TableSummaries) -> tuple[TableSummary, ...]:
    """What is known once nothing is being looked at any more."""
    ended = time.monotonic() + 60
    while summaries.progress is not None:
        assert time.monotonic() < ended
        time.sleep(0.01)
    return summaries.list()


def test_a_summary_says_version_files_size_and_the_worst_finding(tmp_path: Path) -> None:
    good, bad = make_table(tmp_path / "good", 3), tmp_path / "bad"
    LogFolder(bad).write("00000000000000000000.json", "{")
    nowhere = tmp_path / "nowhere"
    summaries = TableSummaries([Offered(target=str(place)) for place in (good, bad, nowhere)])
    assert all(one.is_waiting and one.num_files is None for one in summaries.list())
    summaries.follow(lambda: None)
    fine, broken, missing = settled(summaries)
    assert (fine.version, fine.num_files, fine.size_in_bytes) == (2, 3, 30)
    assert fine.timestamp is not None
    assert fine.problem is None
    assert (broken.severity, broken.num_files) == ("error", None)
    assert missing.problem is not None
    assert missing.problem.kind == "table_not_found"


def test_searched_folders_are_filled_in_and_searched_again(tmp_path: Path) -> None:
    make_table(tmp_path / "a")
    summaries = TableSummaries([], scans=[str(tmp_path), str(tmp_path / "nowhere")])
    summaries.refresh()
    assert [one.name for one in settled(summaries)] == ["a"]
    assert len(summaries.problems()) == 1
    make_table(tmp_path / "b")
    summaries.refresh()
    assert [one.name for one in settled(summaries)] == ["a", "b"]
    assert [one.num_files for one in summaries.list()] == [1, 1]


def test_few_tables_are_looked_at_at_once_and_each_once(tmp_path: Path) -> None:
    places = [make_table(tmp_path / f"t{number}") for number in range(12)]
    opened: list[str] = []
    now, most, lock = 0, 0, threading.Lock()

    def open_slowly(target: str, options: Any) -> Any:
        nonlocal now, most
        with lock:
            opened.append(target)
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return explorer.open_table(target)

    summaries = TableSummaries(
        [Offered(target=str(place)) for place in places], open_table=open_slowly
    )
    told = threading.Event()
    for _ in range(3):
        summaries.follow(told.set)
    settled(summaries)
    assert sorted(opened) == sorted(map(str, places))
    assert 1 < most <= AT_ONCE
    assert told.is_set()
    summaries.follow(told.set)  # fresh enough
    settled(summaries)
    assert len(opened) == len(places)


def test_a_summary_that_is_old_is_looked_at_anew(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    place = log.root
    hours = [0.0]
    summaries = TableSummaries([Offered(target=str(place))], clock=lambda: hours[0])
    summaries.follow(lambda: None)
    assert settled(summaries)[0].version == 0
    log.commit(1, [add("b.parquet")])
    hours[0] = 3600.0
    summaries.follow(lambda: None)
    assert settled(summaries)[0].version == 1


def test_credentials_of_a_catalog_are_in_no_summary(tmp_path: Path) -> None:
    asked: list[Any] = []

    def refuse(target: str, options: Any) -> Any:
        asked.append((target, options))
        raise RuntimeError(f"{target} {options}")

    table = Offered(target=f"https://u:{SECRET}@h/t?sig={SECRET}", storage_options={"key": SECRET})
    summaries = TableSummaries([table], open_table=refuse)
    summaries.follow(lambda: None)
    (found,) = settled(summaries)
    assert asked == [(table.target, {"key": SECRET})]
    assert found.shown == "https://h/t"
    assert SECRET not in repr(found) + repr(table) + str(summaries.places())
    assert summaries.target_of("https://h/t") == table.target
    assert summaries.options_of(table.target) == {"key": SECRET}


def summary(name: str, **known: Any) -> TableSummary:
    return TableSummary(shown=f"/lake/{name}", name=name, is_waiting=False, **known)


ROWS = [
    summary("b", num_files=2, severity="note", num_findings=1, finding="x"),
    summary("a", num_files=10, severity="error", num_findings=3, finding="y"),
    TableSummary(shown="/lake/c", name="c"),
    summary("D", num_files=1, num_findings=0),
]


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (("name", False), "abcD"),
        (("name", True), "Dcba"),
        (("files", False), "Dbac"),
        (("files", True), "abDc"),
        (("health", False), "abDc"),
    ],
)
def test_the_list_is_sorted_and_what_is_not_known_stands_last(sort: Any, names: str) -> None:
    assert "".join(one.name for one in sort_summaries(ROWS, sort)) == names


def test_the_list_is_filtered_by_name_and_place() -> None:
    assert [one.name for one in filter_summaries(ROWS, "d")] == ["D"]
    assert len(filter_summaries(ROWS, "LAKE")) == 4


def test_unknown_figures_are_not_zero() -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    waiting = [cell.text for cell in build_summary_row(ROWS[2], now).cells]
    failed = [cell.text for cell in build_summary_row(ROWS[3], now).cells]
    assert waiting[1:7] == ["\N{HORIZONTAL ELLIPSIS}"] * 6
    assert failed[1] == "nothing is wrong"
    assert failed[2:4] == ["unknown", "unknown"]


def test_a_finding_is_a_few_words_and_its_sentence_is_there_on_demand() -> None:
    sentence = "The commits of versions 3 to 7 are missing, and no checkpoint stands in for them."
    kinds = ("gap in the commits", "small files")
    common = {"shown": "/a", "name": "a", "finding": sentence, "num_findings": 2}

    def told(**more: Any) -> tuple[str, str | None]:
        summary = TableSummary(**common, is_waiting=False, **more)  # type: ignore[arg-type]
        cell = build_summary_row(summary, datetime(2026, 11, 1, tzinfo=UTC)).cells[1]
        return cell.text, cell.title

    assert told(severity="error", findings=kinds) == (f"error: {', '.join(kinds)}", sentence)
    assert told(severity="note", findings=kinds[1:]) == ("small files", sentence)
    assert told(severity="note") == ("2 notes", sentence)


def test_the_sum_counts_what_is_wrong() -> None:
    assert sum_up(ROWS) == "4 tables: 1 with errors, 1 with notes alone, 1 not looked at yet."
    assert sum_up(ROWS[3:]) == "1 table: nothing is wrong."
    # what the kinds below the sentence name is not told to be nothing
    assert sum_up([summary("e", findings=("small files",))]) == "1 table: 1 with notes alone."


def test_tables_with_notes_alone_are_counted_last_and_can_be_chosen() -> None:
    every = [*ROWS, summary("e", findings=("small files",))]
    assert count_findings(every) == [("small files", 1), ("notes alone", 2)]
    assert [one.name for one in filter_summaries(every, "", "notes alone")] == ["b", "e"]


@dataclass(frozen=True)
class Placed:
    """A table as far as its place matters."""

    shown: str
    name: str


@pytest.mark.parametrize(
    ("places", "folder", "told"),
    [
        (["/lake/a", "/lake/b"], "/lake/", False),
        (["/lake/a/", "/lake/b/"], "/lake/", False),
        (["/lake/alike", "/lake/also"], "/lake/", False),
        (["/lake/one/a", "/lake/two/a"], "/lake/", True),
        (["/lake", "/lake/b"], "/", True),
        (["s3://one/a", "s3://other/a"], "", True),
        (["s3://one/a", "/lake/a"], "", True),
        (["/lake/a"], "/lake/", False),
        (["/lake/a/"], "/lake/", False),
        (["a"], "", True),
        ([], "", True),
    ],
)
def test_places_are_told_where_they_say_more_than_the_names(
    places: list[str], folder: str, *, told: bool
) -> None:
    rows = [Placed(place, place.rstrip("/").rpartition("/")[2]) for place in places]
    assert shared_folder(rows) == folder
    assert (columns_below(folder, rows)[-1].key == "place") is told


def test_places_are_told_where_a_catalog_has_other_names() -> None:
    rows = [Placed("/lake/a", "orders"), Placed("/lake/b", "orders")]
    assert columns_below(shared_folder(rows), rows)[-1].key == "place"
