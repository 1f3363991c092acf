"""From the log's paths to a folder's names, and what commits did to them, as columns."""

from __future__ import annotations

import random
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

import explorer
from explorer.errors import CorruptLogError
from explorer.files.decoded_paths import decode_as_text, decode_paths
from explorer.files.events import ADD, REMOVE, read_events
from explorer.files.kept import is_kept, kept_files
from explorer.files.listed import is_hidden, is_stray_by_name
from explorer.files.reachable import build_reach, events_of_files, lacking_files
from explorer.files.store_paths import data_places, file_of_each, places_of, vector_places
from explorer.protocol.paths import decode_path
from explorer.protocol.vectors.deletion_vectors import parse_relative_place, render_relative_place
from tests.corpus import READABLE, place_table, table_name
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove, vector

VECTOR = pa.struct(
    [
        ("storage_type", pa.string()),
        ("path_or_inline_dv", pa.string()),
        ("offset", pa.int32()),
        ("size_in_bytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
PATHS = ["a.parquet", "p=a%2520b/x%20y.parquet", "ä/%C3%A4", "%", "100%", "%zz", "a%2fb", ""]


def vectors(*places: tuple[str, str] | None) -> pa.Array:
    rows = [place and {"storage_type": place[0], "path_or_inline_dv": place[1]} for place in places]
    return pa.array(rows, VECTOR)


def test_paths_are_decoded_as_one_alone_is() -> None:
    files = pa.table({"path": PATHS, "deletion_vector": pa.nulls(len(PATHS), VECTOR)})
    names, none = file_of_each(files, "/t")
    assert names.to_pylist() == [decode_path(path) for path in PATHS]
    assert none is None


def test_path_as_it_stands_is_kept_beside_its_decoded_form() -> None:
    places = data_places(pa.array(["a%20b", "./c", "d//e", "f/../g"]), "/t")
    assert {"a b", "a%20b", "c", "d/e", "g"} <= set(places.names.to_pylist())
    listed = ["a b", "a%20b", "a%2520b", "c", "e", "50%"]
    kept = is_kept(pa.chunked_array([listed]), places)
    assert kept.to_pylist() == [True, True, False, True, False, False]


@pytest.mark.parametrize(
    "path", ["./a%20b/c", "a%20b//c", "x%20y/../a%20b/c", "%2E/a%20b/c", "a%20b%2F/c", "a b/./c"]
)
def test_file_is_kept_by_a_path_with_escapes_and_needless_parts(path: str) -> None:
    listed = pa.chunked_array([["a b/c", "other"]])
    files = pa.table({"path": ["%25", path], "deletion_vector": pa.nulls(2, VECTOR)})
    names, _ = file_of_each(files, "/t")
    for places in (
        data_places(pa.array([path]), "/t"),
        places_of(files, "/t"),
        places_of(files, "/t", names),
    ):
        assert is_kept(listed, places).to_pylist() == [True, False]


def test_many_escapes_are_decoded_as_each_is_alone() -> None:
    dice = random.Random(7)
    parts = [
        "%",
        "%2",
        "%20",
        "a",
        "b/",
        "%C3%A4",
        "%ff",
        "%25",
        "%zz",
        "ä",
        "%E2%82",
        "%00",
        "%4%41",
    ]
    for _ in range(200):
        texts = [
            None if dice.random() < 0.1 else "".join(dice.choices(parts, k=dice.randint(0, 6)))
            for _ in range(dice.randint(0, 40))
        ]
        paths = pa.array(texts, pa.string()).slice(dice.randint(0, 3))
        found = decode_paths(paths)
        found.validate(full=True)
        expected = [None if text is None else decode_as_text(text) for text in paths.to_pylist()]
        assert found.to_pylist() == expected, texts


@pytest.mark.parametrize(
    ("root", "path", "name"),
    [
        ("/t", "/t/a%20b", "a b"),
        ("/t", "file:/t/a", "a"),
        ("/t", "file:///t/a", "a"),
        ("/t t", "file:///t%20t/a", "a"),
        ("/t", "/tt/a", None),
        ("/t", "/a", None),
        ("s3://b/t", "s3://b/t/a", "a"),
        ("s3://b/t", "s3a://b/t/a", "a"),
        ("s3://b/t", "s3://b/u/a", None),
        ("abfss://c@h/t", "abfss://c@h/t/x/a", "x/a"),
    ],
)
def test_absolute_path_below_the_root_is_inside(root: str, path: str, name: str | None) -> None:
    files = pa.table({"path": [path], "deletion_vector": pa.nulls(1, VECTOR)})
    assert file_of_each(files, root)[0].to_pylist() == [name]
    found = data_places(pa.array([path]), root)
    if name is None:
        assert found.outside.to_pylist()[0] == path.rpartition("/")[2]
    else:
        assert name in found.inside.to_pylist()


@pytest.mark.parametrize("count", [1, 1000], ids=["few", "many"])
@pytest.mark.parametrize("prefix", ["", "ab"])
def test_vector_is_found_by_the_file_that_its_uuid_names(count: int, prefix: str) -> None:
    places = [render_relative_place(UUID(int=number * 2**100), prefix) for number in range(count)]
    found = vector_places(vectors(*(("u", place) for place in places)), "/t")
    assert found.inside.to_pylist() == [parse_relative_place(place) for place in places]


def test_vectors_of_every_kind_have_their_place() -> None:
    place = render_relative_place(UUID(int=1), "ab")
    column = vectors(("u", place), ("i", "abc"), None, ("p", "file:///t/x%20y.bin"))
    found = vector_places(column, "/t")
    assert set(found.inside.to_pylist()) >= {parse_relative_place(place), "x y.bin"}
    files = pa.table({"path": list("abcd"), "deletion_vector": column})
    names = file_of_each(files, "/t")[1]
    assert names is not None
    assert names.to_pylist() == [parse_relative_place(place), None, None, "x y.bin"]


@pytest.mark.parametrize("place", ["short", "~" * 20, "../../ab^-aqEH.-t@S}K{vb[*k^"])
def test_vector_that_names_no_file_is_an_error(place: str) -> None:
    with pytest.raises(explorer.DeltaError):
        vector_places(vectors(("u", place)), "/t")


def test_hidden_is_what_lies_below_an_underscore_or_a_point() -> None:
    cases = {
        "a.parquet": False,
        "_a.parquet": True,
        "x/.a.parquet": True,
        "_x/a.parquet": True,
        "_change_data/a.parquet": False,
        "_change_data/_x/a.parquet": True,
        "x/_change_data/a.parquet": True,
        "_col=1/a.parquet": False,
        "x=1/_col=_2/a.parquet": False,
        "_other=1/a.parquet": True,
        "file:/etc/passwd.parquet": True,
        "S3://bucket/x.parquet": True,
    }
    found = is_hidden(pa.chunked_array([list(cases)]), ["_col", "x"])
    assert dict(zip(cases, found.to_pylist(), strict=True)) == cases


def test_stray_is_told_by_its_name() -> None:
    cases = {
        "x.parquet": True,
        "a/deletion_vector_1.bin": True,
        "_change_data/anything": True,
        "x.parquet.crc": False,
        "deletion_vector_1.bin/readme": False,
        "x_deletion_vector_1.bin": False,
        "x.PARQUET": False,
        "x.orc": False,
    }
    found = is_stray_by_name(pa.chunked_array([list(cases)]))
    assert dict(zip(cases, found.to_pylist(), strict=True)) == cases


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("table", READABLE, ids=table_name)
def test_both_ways_to_the_kept_files_agree_on_real_tables(
    table: dict[str, object], tmp_path: Path
) -> None:
    opened = explorer.open_table(place_table(table, tmp_path))
    kept = kept_files(opened.snapshot(), 0)
    events = read_events(opened.store, opened.listing())
    newest = events.newest.to_pylist()
    live = [row for row in newest if row["kind"] == ADD]
    assert len(live) == opened.snapshot().num_files

    def places(rows: list[dict[str, object]]) -> set[str]:
        columns = {name: [row[name] for row in rows] for name in ("path", "deletion_vector")}
        table = pa.table(columns, pa.schema([("path", pa.string()), ("deletion_vector", VECTOR)]))
        return set(places_of(table, opened.uri).inside.to_pylist())

    again = places([row for row in newest if row["kind"] == ADD or (row["time"] or 0) > 0])
    # a checkpoint may leave out what its own commit removed (Checkpoints: expired tombstones)
    first = events.first if events.num_base else -1
    spared = places([r for r in newest if r["kind"] == REMOVE and r["version"] == first])
    found = set(kept.places.inside.to_pylist())
    assert found <= again
    assert again - found <= spared


def test_file_named_by_another_place_is_kept_by_its_name() -> None:
    places = data_places(pa.array(["/elsewhere/x/one.parquet"]), "/t")
    listed = pa.chunked_array([["one.parquet", "y/one.parquet", "two.parquet"]])
    assert is_kept(listed, places).to_pylist() == [True, True, False]


@pytest.fixture
def events_table(tmp_path: Path) -> explorer.Table:
    """a: versions 0 to 1; b: from 1 on, with another vector from 3 on; c: change file of 2."""
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a")])
    log.commit(1, [add("b")])
    log.commit(2, [remove("a"), {"cdc": {"path": "_change_data/c", "dataChange": False}}])
    log.commit(3, [remove("b"), add("b", deletionVector=vector())])
    log.commit(4, [])
    return explorer.open_table(log.root)


def readable(table: explorer.Table, present: list[str]) -> tuple[list[int], list[int]]:
    """Versions, and versions of the change feed, that can be read with these files."""
    events = read_events(table.store, table.listing())
    data, vectors = lacking_files(events, pa.chunked_array([present], pa.string()))
    reach = build_reach(events, data | vectors)
    return (
        [version for version in range(5) if reach.readable[version]],
        [version for version in range(5) if reach.changes[version]],
    )


def test_version_is_readable_where_every_file_that_was_live_in_it_is_there(
    events_table: explorer.Table,
) -> None:
    mark = parse_relative_place(vector()["pathOrInlineDv"])
    every = ["a", "b", "_change_data/c", mark]
    assert readable(events_table, every) == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    assert readable(events_table, ["b", "_change_data/c", mark]) == ([2, 3, 4], [1, 2, 3, 4])
    assert readable(events_table, ["a", "b", mark]) == ([0, 1, 2, 3, 4], [0, 1, 3, 4])
    assert readable(events_table, ["a", "b", "_change_data/c"]) == ([0, 1, 2], [0, 1, 2, 4])
    assert readable(events_table, ["a", "_change_data/c", mark]) == ([0], [0, 2, 4])


def test_reach_tells_from_where_on_everything_is_readable(events_table: explorer.Table) -> None:
    events = read_events(events_table.store, events_table.listing())
    nothing = events_of_files(events, pa.chunked_array([[]], pa.string()))
    gone = events_of_files(events, pa.chunked_array([["a"]]))
    before, after = build_reach(events, nothing), build_reach(events, gone)
    assert (before.readable_from, after.readable_from) == (0, 2)
    assert before.losses_to(after) == ([range(2)], [range(1)])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["classic", "multi-part", "v2-json", "v2-parquet"])
@pytest.mark.parametrize("sidecars", [0, 2])
def test_events_begin_at_a_checkpoint_where_the_first_commits_are_gone(
    tmp_path: Path, form: str, sidecars: int
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(2, [add("c"), remove("a")])
    held = [FEATURE_PROTOCOL, metadata(), add("a"), add("b"), remove("old")]
    log.checkpoint(1, held, form=form, sidecars=sidecars)  # type: ignore[arg-type]
    table = explorer.open_table(log.root)
    events = read_events(table.store, table.listing())
    assert (events.first, events.last) == (1, 2)
    rows = events.table.to_pylist()
    assert {(row["version"], row["kind"], row["path"]) for row in rows} == {
        (1, ADD, "a"),
        (1, ADD, "b"),
        (1, REMOVE, "old"),
        (2, ADD, "c"),
        (2, REMOVE, "a"),
    }


@pytest.mark.parametrize("damage", ["pages", "a path that is no URI"])
def test_events_pass_over_a_checkpoint_that_cannot_be_read(tmp_path: Path, damage: str) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(2, [add("c")])
    held = [FEATURE_PROTOCOL, metadata(), add("a")]
    if damage == "pages":
        (place,) = log.checkpoint(1, held)
        data = bytearray(place.read_bytes())
        data[4:400] = b"\xff" * 396
        place.write_bytes(data)
    else:
        log.checkpoint(1, [*held, {"sidecar": {"path": "%ff", "sizeInBytes": 1}}], form="v2-json")
    table = explorer.open_table(log.root)
    with pytest.raises(CorruptLogError, match="The checkpoint of version 1 cannot be read"):
        read_events(table.store, table.listing())
    log.checkpoint(2, [*held, add("c")])
    assert read_events(table.store, explorer.open_table(log.root).listing()).first == 2


def test_lines_that_the_fast_reader_refuses_are_read_all_the_same(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a")])
    body = '{"add":{"path":"b","size":1,"dataChange":true,"stats":{"x":1},"y":[1,"2"]}}'
    log.write("00000000000000000001.json", f"\n{body}\r\n\n   \n" + '{"remove":{"path":"a"}}')
    log.commit(2, [add("x" * 5_000_000), add("c")])
    table = explorer.open_table(log.root)
    rows = read_events(table.store, table.listing()).table.to_pylist()
    assert [(row["version"], row["path"][:1]) for row in rows] == [
        (0, "a"),
        (1, "b"),
        (1, "a"),
        (2, "x"),
        (2, "c"),
    ]
