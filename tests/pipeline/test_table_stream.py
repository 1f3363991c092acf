"""What a stream reads of a table, commit by commit: driven as Spark's engine does, without it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import DeltaError, pipeline
from explorer.errors import InvalidArgumentError
from explorer.pipeline.source._stream_limits import Budget
from explorer.pipeline.source._stream_offset import StreamOffset, parse_offset
from explorer.pipeline.source._stream_options import stream_options
from tests.change_feeds import Feed, feed_metadata, hiding
from tests.data_tables import field, mapped, struct
from tests.pipeline.driven_streams import (
    Killed,
    engine,
    ids,
    open_reader,
    three_files,
    told,
)
from tests.sampling import sample
from tests.tables import FEATURE_PROTOCOL, add, metadata, remove

IDS = struct(field("id", "long"))


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    return three_files(tmp_path / "t")


def test_a_stream_begins_with_the_rows_of_a_version_or_with_its_commit(feed: Feed) -> None:
    assert ids(engine(feed).run()) == [[0, 1, 10, 11, 20, 21]]
    assert ids(engine(feed, startingVersion=2).run()) == [[10, 11, 20, 21]]
    assert ids(engine(feed, startingVersion=0).run()) == [[0, 1, 10, 11, 20, 21]]
    latest = engine(feed, startingVersion="latest")
    assert latest.run() == []
    feed.file("d", id=[30])
    feed.commit(add("d"))
    assert latest.run() == []  # it has still not begun
    query = engine(feed, startingVersion="latest")
    reader = open_reader(feed.folder.root, startingVersion="latest")
    start = reader.initialOffset()
    feed.file("e", id=[40])
    feed.commit(add("e"))
    assert reader.initialOffset() == start  # Spark asks twice before the first batch
    assert reader.latestOffset(start, reader.getDefaultReadLimit())["version"] == 5
    assert query.run() == []


def test_a_stream_begins_with_the_first_commit_at_or_after_a_time(feed: Feed) -> None:
    for version in range(3):
        feed.folder.time(version, 1_700_000_000_000 + version * 1000)
    moments = {"2023-11-14T22:13:21Z": 1, "2023-11-14T22:13:21.001Z": 2, "2001-01-01T00:00:00Z": 0}
    for moment, version in moments.items():
        reader = open_reader(feed.folder.root, startingTimestamp=moment)
        assert reader.initialOffset()["start"] == {"version": version, "snapshot": False}
    error = told(engine(feed, startingTimestamp="2023-11-14T22:13:22.001Z"))
    assert error.kind == "timestamp_out_of_range"
    assert told(engine(feed, startingTimestamp="2023-11-14")).kind == "invalid_argument"


def test_times_within_commits_count_where_they_are_enabled(tmp_path: Path) -> None:
    place = tmp_path / "t"
    pipeline.create(place, "id BIGINT", properties={"delta.enableInCommitTimestamps": "true"})
    for number in range(3):
        pipeline.write(pa.table({"id": [number]}), place)
    table = explorer.open_table(place)
    moments = [table.snapshot(version=version).timestamp for version in range(4)]
    for version, moment in enumerate(moments):
        assert moment is not None
        assert table.version_from(moment) <= version
        if version and moment != moments[version - 1]:
            assert table.version_from(moment) == version
    assert moments[-1] is not None
    with pytest.raises(DeltaError, match="latest version"):
        table.version_from("9999-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({"maxFilesPerTrigger": 1}, [[0, 1], [10, 11], [20, 21]]),
        ({"maxFilesPerTrigger": 2}, [[0, 1, 10, 11], [20, 21]]),
        ({"maxBytesPerTrigger": "100"}, [[0, 1], [10, 11], [20, 21]]),
        ({"maxBytesPerTrigger": "101"}, [[0, 1, 10, 11], [20, 21]]),
        ({"maxBytesPerTrigger": "1g", "maxFilesPerTrigger": 1}, [[0, 1], [10, 11], [20, 21]]),
        ({"maxBytesPerTrigger": "1b", "maxFilesPerTrigger": 9}, [[0, 1], [10, 11], [20, 21]]),
        ({}, [[0, 1, 10, 11, 20, 21]]),
    ],
)
@pytest.mark.parametrize("first", [{}, {"startingVersion": 1}], ids=["snapshot", "commits"])
def test_limits_count_for_each_batch(
    feed: Feed, options: dict[str, Any], batches: list[list[int]], first: dict[str, Any]
) -> None:
    assert ids(engine(feed, **options, **first).run()) == batches
    # a trigger that wants everything at once does not ask for them
    assert ids(engine(feed, **options, **first).run(once=True)) == [[0, 1, 10, 11, 20, 21]]


def test_a_budget_takes_the_first_file_whatever_its_size() -> None:
    files = pa.table({"size": [10, 10, 10]})
    assert Budget(files=None, size=1).take(files) == 1
    assert Budget(files=None, size=10).take(files) == 1
    assert Budget(files=None, size=11).take(files) == 2
    budget = Budget(files=2, size=100)
    assert (budget.take(files), budget.is_spent, budget.take(files)) == (2, True, 0)
    whole = Budget(files=2, size=None)
    assert whole.take_all(files)  # more than may be, and the first
    assert not whole.take_all(files)
    assert whole.take_all(files.slice(0, 0))


def test_available_now_ends_with_what_was_there_when_it_began(feed: Feed) -> None:
    query = engine(feed, maxFilesPerTrigger=1)
    added: list[str] = []

    def commit_meanwhile(what: str) -> None:
        if what == "write" and len(added) < 3:
            name = f"later{len(added)}"
            added.append(name)
            feed.file(name, id=[100 + len(added)])
            feed.commit(add(name))

    query.step = commit_meanwhile
    assert ids(query.run()) == [[0, 1], [10, 11], [20, 21]]
    assert ids(query.run()) == [[101], [102], [103]]


def test_rows_that_were_only_moved_are_not_read_again_and_move_the_stream_on(feed: Feed) -> None:
    query = engine(feed)
    query.run()
    feed.file("bc", id=[10, 11, 20, 21])
    feed.commit(
        remove("b", dataChange=False), remove("c", dataChange=False), add("bc", dataChange=False)
    )
    assert query.run() == [[]]
    assert json.loads(query.offsets[-1])["version"] == 4


@pytest.mark.parametrize(
    ("actions", "ignored_by"),
    [
        ([remove("a")], {"ignoreDeletes", "skipChangeCommits"}),
        ([remove("a"), add("a", **hiding(0))], {"skipChangeCommits"}),
        ([remove("a"), add("new")], {"skipChangeCommits"}),
    ],
    ids=["delete", "vector", "rewrite"],
)
def test_a_commit_that_changes_rows_stops_the_stream_unless_it_is_to_be_passed_over(
    feed: Feed, actions: list[Any], ignored_by: set[str]
) -> None:
    feed.file("new", id=[5])
    feed.file("d", id=[30])
    feed.commit(*actions)
    feed.commit(add("d"))
    for option in ("ignoreDeletes", "skipChangeCommits", None):
        options = {} if option is None else {option: "true"}
        query = engine(feed, startingVersion=1, **options)
        if option in ignored_by:
            query.run()
            assert ids([query.rows()]) == [[0, 1, 10, 11, 20, 21, 30]]
            continue
        error = told(query)
        assert ids([query.rows()]) == [[0, 1, 10, 11, 20, 21]]  # what came before
        assert error.problem.startswith("Version 3 ")
        assert ignored_by | {"readChangeFeed"} == {
            name
            for name in ("ignoreDeletes", "skipChangeCommits", "readChangeFeed")
            if name in error.remedy
        }
        assert told(query).problem == error.problem
        # with the option it goes on where it stopped
        query.options["skipChangeCommits"] = "true"
        assert ids(query.run()) == [[30]]


def test_vectors_and_partition_values_and_mapped_names_count_as_in_a_batch(tmp_path: Path) -> None:
    fields = struct(mapped("Größe, in m", "long", "col-1", 1), mapped("land", "string", "col-2", 2))
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    protocol = json.loads(json.dumps(FEATURE_PROTOCOL))
    for features in ("readerFeatures", "writerFeatures"):
        protocol["protocol"][features] += ["columnMapping"]
    described = feed_metadata(fields, partitionColumns=["land"], configuration=configuration)
    feed = Feed(tmp_path / "t", described)
    feed.commit(protocol)
    feed.file("a", **{"col-1": [1, 2, 3]})
    feed.commit(add("a", partitionValues={"col-2": "DE"}, **hiding(1)))
    feed.file("b", **{"col-1": [4]})
    feed.commit(add("b", partitionValues={"col-2": None}))
    for options in ({}, {"startingVersion": 0}, {"maxFilesPerTrigger": 1}):
        query = engine(feed, **options)
        query.run()
        assert query.rows() == [(1, "DE"), (3, "DE"), (4, None)]


def test_the_change_feed_is_read_commit_by_commit(feed: Feed) -> None:
    feed.commit(remove("a"), add("a", **hiding(1)))
    feed.file("d", id=[30])
    feed.commit(remove("b"), add("d"))
    query = engine(feed, readChangeFeed="true", startingVersion=1, maxFilesPerTrigger=1)
    batches = [sorted(row[:3] for row in rows) for rows in query.run()]
    assert batches == [
        [(0, "insert", 1), (1, "insert", 1)],
        [(10, "insert", 2), (11, "insert", 2), (20, "insert", 2), (21, "insert", 2)],
        [(1, "delete", 3)],
        [(10, "delete", 4), (11, "delete", 4), (30, "insert", 4)],
    ]
    # without a start the rows that are there come first, as inserts of that version
    whole = engine(feed, readChangeFeed="true", maxFilesPerTrigger=1)
    assert [sorted(row[:3] for row in rows) for rows in whole.run()] == [
        [(0, "insert", 4)],
        [(20, "insert", 4), (21, "insert", 4)],
        [(30, "insert", 4)],
    ]
    same = explorer.read_changes(explorer.open_table(feed.folder.root), 1)
    moments = {row["_commit_version"]: row["_commit_timestamp"] for row in same.to_pylist()}
    assert all(row[3] == moments[row[2]] for row in query.rows())


def test_a_feed_that_was_not_enabled_stops_the_stream_where_it_was_not(feed: Feed) -> None:
    off = metadata(schemaString=json.dumps(IDS))
    feed.commit(off)
    error = told(engine(feed, readChangeFeed="true", startingVersion=1))
    assert error.kind == "change_feed_unavailable"
    assert "version 3" in error.problem
    assert told(engine(feed, readChangeFeed="true")).kind == "change_feed_unavailable"


WIDER = struct(field("id", "long"), field("note", "string"))
OTHER = struct(field("number", "string"))


def test_new_columns_stop_a_query_and_are_read_when_it_is_started_again(feed: Feed) -> None:
    query = engine(feed, startingVersion=1, maxFilesPerTrigger=1)

    def widen(what: str) -> None:
        if what == "latest" and feed.version == 2:
            feed.file("d", id=[30], note=["new"])
            feed.commit(feed_metadata(WIDER), add("d"))
            query.step = lambda _: None

    # the query has been loaded before the columns change, and reads beyond that
    reader = open_reader(feed.folder.root, startingVersion=1)
    widen("latest")
    start = reader.initialOffset()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert end["version"] == 3  # all before the change
    with pytest.raises(Exception, match="Version 3 changed the columns of the table while"):
        reader.latestOffset(end, reader.getDefaultReadLimit())
    query.run()
    assert query.rows()[-1] == (30, "new")
    assert query.rows()[0] == (0, None)


def test_rows_that_the_columns_of_now_cannot_show_stop_the_stream(feed: Feed) -> None:
    feed.file("o", number=["x"])
    feed.commit(feed_metadata(OTHER), remove("a"), remove("b"), remove("c"), add("o"))
    error = told(engine(feed, startingVersion=1))
    assert error.kind == "schema_mismatch"
    assert "version 1 cannot be read by the columns of the stream" in error.problem
    assert engine(feed, startingVersion=3, skipChangeCommits="true").run() == [[]]
    # a query that was loaded before the change and has read up to it goes on behind it
    query = engine(feed, startingVersion=1, skipChangeCommits="true")
    reader = open_reader(feed.folder.root, startingVersion=3)
    here = reader.initialOffset()
    query.offsets, query.done = [json.dumps(here)], 1
    feed.file("p", number=["y"])
    feed.commit(add("p"))
    assert query.run() == [[("y",)]]
    assert engine(feed).run() == [[("x",), ("y",)]]


def test_a_first_batch_that_is_done_again_knows_the_files_of_other_columns(feed: Feed) -> None:
    feed.file("o", number=["x"])
    feed.commit(feed_metadata(OTHER), remove("a"), add("o"))
    query = engine(feed, readChangeFeed="true", startingVersion="latest")
    # it began with version 3, which was the next one, and was killed before the batch was done
    began = {"start": {"version": 3, "snapshot": False}, "version": 4}
    here = open_reader(feed.folder.root, **query.options).initialOffset()
    assert here["version"] == 4  # what it says now, when Spark asks it again
    query.offsets = [json.dumps(here | began)]
    feed.file("p", number=["y"])
    feed.commit(add("p"))
    batches = [sorted((row[:3] for row in rows), key=repr) for rows in query.run()]
    deleted = (None, "delete", 3)
    assert batches == [[("x", "insert", 3), deleted, deleted], [("y", "insert", 4)]]


def test_changes_that_rows_do_not_show_let_the_stream_go_on(feed: Feed) -> None:
    reader = open_reader(feed.folder.root)
    start = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    commented = struct(field("id", "long", False, comment="the key"))
    feed.file("d", id=[30])
    feed.commit(feed_metadata(commented), add("d"))
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    (part,) = reader.partitions(start, end)
    assert [batch.to_pylist() for batch in reader.read(part)] == [[{"id": 30}]]


def test_the_first_rows_are_read_to_their_end_though_the_table_goes_on(feed: Feed) -> None:
    query = engine(feed, maxFilesPerTrigger=1)

    def stop(what: str) -> None:
        if what == "plan" and query.done == 1:
            raise Killed

    query.step = stop
    with pytest.raises(Killed):
        query.run()
    query.step = lambda _: None
    feed.file("d", id=[30])
    feed.commit(remove("c"), add("d"))
    error = told(query)
    assert ids([query.rows()]) == [[0, 1, 10, 11, 20, 21]]
    assert "Version 3 changes rows" in error.problem


def test_another_table_and_another_kind_of_stream_are_refused(feed: Feed, tmp_path: Path) -> None:
    query = engine(feed, startingVersion=1)
    query.run()
    other = Feed(tmp_path / "other", feed_metadata(id="another"))
    query.place = other.folder.root
    assert "stream of another table" in told(query).problem
    query.place = feed.folder.root
    query.options["readChangeFeed"] = "true"
    assert "began without readChangeFeed" in told(query).problem
    del query.options["readChangeFeed"]
    # the same id, and fewer versions
    (feed.folder.log / f"{2:020}.json").unlink()
    (feed.folder.log / f"{1:020}.json").unlink()
    assert "The stream has read version 2, and the newest version is 0" in told(query).problem


def test_a_table_that_is_replaced_while_the_stream_runs_stops_it(feed: Feed) -> None:
    reader = open_reader(feed.folder.root, startingVersion=1)
    start = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    feed.commit(feed_metadata(id="another"))
    with pytest.raises(Exception, match="At version 3 the table is another one"):
        reader.latestOffset(start, reader.getDefaultReadLimit())


OFFSET = StreamOffset(table="t", feed=False, first=3, whole=True, version=4, files=2)


def changed(**fields: Any) -> dict[str, Any]:
    return OFFSET.as_dict() | fields


@pytest.mark.parametrize(
    ("kept", "match"),
    [
        (
            {
                "sourceVersion": 1,
                "reservoirId": "248a6b67",
                "reservoirVersion": 3,
                "index": -1,
                "isStartingVersion": False,
            },
            "offsets are those of Delta Spark's own source",
        ),
        ({"topic": {"0": 23}}, "belongs to another source"),
        ({}, "belongs to another source"),
        (changed(delta_explorer=2), "later release of delta-explorer"),
        (changed(delta_explorer="1"), "belongs to another source"),
        (changed(version=-1), "cannot be read"),
        (changed(version=2), "cannot be read"),
        (changed(files=True), "cannot be read"),
        (changed(start=None), "cannot be read"),
        (changed(table=7), "cannot be read"),
        (changed(feed="no"), "cannot be read"),
    ],
)
def test_offsets_of_others_are_refused(kept: dict[str, Any], match: str) -> None:
    with pytest.raises(DeltaError, match=match):
        parse_offset(kept)


def test_an_offset_is_read_as_it_was_kept() -> None:
    assert parse_offset(json.loads(json.dumps(OFFSET.as_dict()))) == OFFSET
    assert OFFSET.after(1, 4).files == 3
    assert OFFSET.after(2, 4) == StreamOffset(
        table="t", feed=False, first=3, whole=True, version=5, files=0
    )


def test_an_offset_beyond_the_files_of_its_version_is_refused(feed: Feed) -> None:
    query = engine(feed, startingVersion=1, maxFilesPerTrigger=2)
    query.run()
    kept = json.loads(query.offsets[0])
    query.offsets = [json.dumps(kept | {"files": 9})]
    query.done = 1
    assert "has read 9 files of version 2, which has 2" in told(query).problem


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"startingVersion": "9"}, "is not in the table's log"),
        ({"startingVersion": "-1"}, "startingVersion cannot be read"),
        ({"startingVersion": "newest"}, "startingVersion cannot be read"),
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger cannot be read"),
        ({"maxBytesPerTrigger": "much"}, "maxBytesPerTrigger cannot be read"),
        ({"ignoreDeletes": "yes"}, "neither true nor false"),
        ({"startingVersion": "1", "startingTimestamp": "2026-01-01T00:00:00Z"}, "both given"),
        ({"readChangeFeed": "true", "ignoreDeletes": "true"}, "do not go with readChangeFeed"),
        ({"ignoreChanges": "true"}, "Use skipChangeCommits"),
        ({"failOnDataLoss": "false"}, "never passes over"),
        ({"versionAsOf": "1"}, "Use startingVersion"),
        ({"maxFilePerTrigger": "1"}, "Did you mean maxFilesPerTrigger"),
    ],
)
def test_options_that_cannot_be_meant_are_told(
    feed: Feed, options: dict[str, str], match: str
) -> None:
    with pytest.raises(DeltaError, match=match):
        engine(feed, **options).run()


def test_a_batch_reads_files_by_the_limit_of_the_reference_unless_told() -> None:
    assert stream_options({"path": "x"}).max_files == 1000
    assert stream_options({"maxBytesPerTrigger": "1m"}).max_files is None
    with pytest.raises(InvalidArgumentError, match="A stream has no option 'x'"):
        stream_options({"x": "1"})


class Schedule:
    """A query that is killed and started again while others change its table."""

    def __init__(self, feed: Feed, options: dict[str, Any]) -> None:
        self.feed, self.query = feed, engine(feed, **options)
        self.next = 100

    def change(self, random: Random) -> None:
        """One commit of another writer: some files, none, or the same rows in other files."""
        names = []
        for _ in range(random.choice([0, 1, 1, 3])):
            name = f"f{self.next}"
            self.feed.file(name, id=[self.next, self.next + 1])
            names.append(name)
            self.next += 2
        if not names and random.random() < 0.5:
            self.feed.commit(remove("a", dataChange=False), add("a", dataChange=False))
            return
        self.feed.commit(*map(add, names))

    def expected(self) -> list[int]:
        table = explorer.open_table(self.feed.folder.root)
        return sorted(explorer.read_rows(table.snapshot()).column("id").to_pylist())


OPTIONS: dict[str, dict[str, Any]] = {
    "snapshot": {"maxFilesPerTrigger": 1},
    "commits": {"maxFilesPerTrigger": 2, "startingVersion": 0},
    "bytes": {"maxBytesPerTrigger": 150},
    "feed": {"readChangeFeed": "true", "maxFilesPerTrigger": 2},
}


def steps_of(feed: Feed, options: dict[str, Any]) -> int:
    seen: list[str] = []
    query = engine(feed, **options)
    query.step = seen.append
    query.run()
    return len(seen)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_query_that_is_killed_before_any_step_reads_each_row_once(
    name: str, feed: Feed, tmp_path: Path
) -> None:
    options = OPTIONS[name]
    count = steps_of(feed, options)
    assert count > 8
    for fatal in sample(range(count), 3, f"killed {name}"):
        again = Feed(tmp_path / f"{name}{fatal}")
        for file in ("a", "b", "c"):
            again.file(file, id=[ord(file) * 10, ord(file) * 10 + 1])
        again.commit(add("a"))
        again.commit(add("c"), add("b"))
        run_killed(Schedule(again, options), [fatal], Random(fatal))


def run_killed(schedule: Schedule, fatal: list[int], random: Random) -> None:
    """Kill the query before these steps, one run after the other; others commit in between."""
    for number in fatal:
        left = [number]

        def step(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        schedule.query.step = step
        with suppress(Killed):
            schedule.query.run()
        schedule.change(random)
    schedule.query.step = lambda _: None
    schedule.query.run()
    assert sorted(row[0] for row in schedule.query.rows()) == schedule.expected()


def test_queries_that_are_killed_again_and_again_read_each_row_once(tmp_path: Path) -> None:
    for seed in sample(range(200), 10, "stream schedules"):
        random, feed = Random(seed), Feed(tmp_path / str(seed))
        feed.file("a", id=[0, 1])
        feed.commit(add("a"))
        schedule = Schedule(feed, OPTIONS[random.choice(list(OPTIONS))])
        for _ in range(random.randrange(3)):
            schedule.change(random)
        fatal = [random.randrange(12) for _ in range(random.randrange(1, 8))]
        run_killed(schedule, fatal, random)
