"""Sizes against the target, small files by partition, overlap by column, and past OPTIMIZEs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import explorer
import explorer.inspect as look
from explorer.answers.registry import ANSWERS
from explorer.errors import InvalidArgumentError
from explorer.inspect.layout._layout_files import numbered, partition_numbers, with_codes
from explorer.inspect.layout.overlap import Depths, depths_of
from explorer.log.plain_arrays import Numbers
from tests.demo_story import LATELY, copy_demo
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, metadata, remove, vector

MB = 2**20


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "table")


def table_of(folder: LogFolder, files: Sequence[Any], **fields: Any) -> explorer.Snapshot:
    folder.commit(0, [FEATURE_PROTOCOL, metadata(**fields), *files])
    return explorer.open_table(folder.root).snapshot()


def sized(part: str, *sizes: int) -> list[Any]:
    values = {"part": part}
    return [
        add(f"part={part}/{at}-{size}", size=size, partitionValues=values)
        for at, size in enumerate(sizes)
    ]


def test_partitions_are_ranked_by_files_saved_per_byte_written_again(folder: LogFolder) -> None:
    files = [
        *sized("large", 200 * MB, 300 * MB),
        *sized("few", 50 * MB, 50 * MB),
        *sized("many", *[MB] * 40),
        *sized("alone", 2 * MB),
    ]
    snapshot = table_of(folder, files, partitionColumns=["part"])
    found = look.file_layout(snapshot, 128 * MB)
    rows = [
        (dict(row["partition"])["part"], row["small_files"], row["files_after"], row["files_saved"])
        for row in found.partitions.to_pylist()
    ]
    assert rows == [("many", 40, 1, 39), ("few", 2, 1, 1), ("large", 0, 0, 0), ("alone", 1, 1, 0)]
    best = found.partitions.to_pylist()[0]
    assert best["saved_per_gib"] == pytest.approx(39 * 1024 / 40)
    assert "43 of 45 files are below" in found.sentence
    assert "Start with part=many: rewriting 40.0 MiB turns 40 small files into 1" in found.sentence


def test_small_files_that_nothing_can_be_done_about_are_no_accusation(folder: LogFolder) -> None:
    snapshot = table_of(folder, [*sized("a", MB), *sized("b", MB)], partitionColumns=["part"])
    found = look.file_layout(snapshot, 128 * MB)
    assert "nothing to compact" in found.sentence
    assert sum(found.partitions.column("files_saved").to_pylist()) == 0
    assert look.file_layout(snapshot, MB).sentence.startswith("None of 2 files is below")


def test_target_is_the_table_s_own_or_the_default(folder: LogFolder) -> None:
    snapshot = table_of(folder, [add("a", size=5)], configuration={"delta.targetFileSize": "16mb"})
    found = look.file_layout(snapshot)
    assert (found.target, found.target_source) == (16 * MB, "delta.targetFileSize")
    folder.commit(1, [metadata(configuration={"delta.targetFileSize": "huge"})])
    snapshot = explorer.open_table(folder.root).snapshot()
    found = look.file_layout(snapshot)
    assert found.target == 1024 * MB
    assert "cannot be read" in found.target_source
    with pytest.raises(InvalidArgumentError):
        look.file_layout(snapshot, 0)


def test_histogram_holds_every_file_and_byte_once(folder: LogFolder) -> None:
    sizes = [0, 1, 2, 3, 4, 1023, 1024, 5 * MB, 2**62]
    snapshot = table_of(folder, [add(f"f{at}", size=size) for at, size in enumerate(sizes)])
    rows = look.file_layout(snapshot).sizes.to_pylist()
    assert sum(row["num_files"] for row in rows) == len(sizes)
    for row in rows:
        assert row["below_bytes"] > row["from_bytes"]
    small = {row["from_bytes"]: row["num_files"] for row in rows}
    assert (small[0], small[2], small[4], small[512], small[1024]) == (2, 2, 1, 1, 1)


def test_table_without_files_says_so(folder: LogFolder) -> None:
    snapshot = table_of(folder, [])
    found = look.file_layout(snapshot)
    assert (found.sentence, found.median) == ("Version 0 has no files.", None)
    assert look.clustering_depth(snapshot).column("num_files").to_pylist() == [0, 0]


def test_partitions_under_mapped_and_mixed_keys_are_the_same(folder: LogFolder) -> None:
    files = [
        add("x", partitionValues={"part": "a"}),
        add("y", partitionValues={"part": None}),
        add("z", partitionValues={"part": ""}),
        add("w", partitionValues={}),
    ]
    snapshot = table_of(folder, files, partitionColumns=["part"])
    rows = look.file_layout(snapshot).partitions.to_pylist()
    assert sorted(row["num_files"] for row in rows) == [1, 3]


def test_partitions_tell_their_live_rows_and_unknown_is_not_zero(folder: LogFolder) -> None:
    def counted(rows: int) -> dict[str, str]:
        return {"stats": json.dumps({"numRecords": rows})}

    files = [
        add("a", partitionValues={"part": "x"}, **counted(7)),
        add("b", partitionValues={"part": "x"}, deletionVector=vector(), **counted(9)),
        add("c", partitionValues={"part": "y"}, **counted(5)),
        add("d", partitionValues={"part": "y"}),
    ]
    snapshot = table_of(folder, files, partitionColumns=["part"])
    rows = look.file_layout(snapshot).partitions.to_pylist()
    found = {dict(row["partition"])["part"]: row["num_rows"] for row in rows}
    assert found == {"x": 14, "y": None}


@pytest.mark.parametrize(("number", "size", "is_wrong"), [(49, 1, False), (50, 1, True),
                                                          (50, 128 * MB, False)])  # fmt: skip
def test_many_thin_partitions_are_too_many(
    folder: LogFolder, number: int, size: int, is_wrong: bool
) -> None:
    files = [file for at in range(number) for file in sized(f"p{at}", size)]
    found = look.file_layout(table_of(folder, files, partitionColumns=["part"]), 128 * MB)
    assert found.has_too_many_partitions is is_wrong
    assert found.partition_verdict.startswith("Too many partitions: 50 of 50") is is_wrong


def test_a_table_without_partitions_has_no_verdict_on_them(folder: LogFolder) -> None:
    assert look.file_layout(table_of(folder, [add("a")])).partition_verdict == ""


def bounds(low: int, high: int) -> str:
    return json.dumps({"numRecords": 9, "minValues": {"id": low}, "maxValues": {"id": high}})


def depth(snapshot: explorer.Snapshot, name: str = "id") -> dict[str, Any]:
    (row,) = look.clustering_depth(snapshot, [name]).to_pylist()
    found: dict[str, Any] = row
    return found


def test_clustered_rows_are_told_apart_from_scattered_ones(folder: LogFolder) -> None:
    tidy = [add(f"t{at}", stats=bounds(at * 10, at * 10 + 9)) for at in range(8)]
    found = depth(table_of(folder, tidy))
    assert (found["mean_depth"], found["max_depth"], found["files_alone"]) == (1.0, 1, 8)
    folder.commit(1, [{"remove": {"path": f"t{at}", "dataChange": True}} for at in range(8)])
    folder.commit(2, [add(f"s{at}", stats=bounds(at, 70 + at)) for at in range(8)])
    found = depth(explorer.open_table(folder.root).snapshot())
    assert (found["max_depth"], found["files_alone"]) == (8, 0)
    assert found["mean_depth"] > 4


def test_files_of_other_partitions_do_not_overlap(folder: LogFolder) -> None:
    files = [add(part, partitionValues={"part": part}, stats=bounds(0, 100)) for part in ("a", "b")]
    found = depth(table_of(folder, files, partitionColumns=["part"]))
    assert (found["mean_depth"], found["files_alone"]) == (1.0, 2)


def test_overlap_has_the_files_of_the_partition_for_a_measure(folder: LogFolder) -> None:
    files = [
        add(f"{part}{at}", partitionValues={"part": part}, stats=bounds(0, 100))
        for part, count in (("a", 3), ("b", 1))
        for at in range(count)
    ]
    found = depth(table_of(folder, files, partitionColumns=["part"]))
    # three files see three, one sees one
    assert found["mean_depth"] == found["mean_partition_files"] == 10 / 4
    assert (found["max_depth"], found["files_alone"]) == (3, 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from(["a", "b", "", None, "c"])] * 3), max_size=40),
    st.sampled_from([1, 20]),
)
def test_files_of_one_partition_have_its_number_and_the_first_of_them_is_known(
    rows: list[tuple[str | None, ...]], repeated: int
) -> None:
    names = ["x", "y", "z"]
    values = [[*zip(names, row, strict=True)] for row in rows * repeated]
    files = pa.table({"partition_values": pa.array(values, pa.map_(pa.string(), pa.string()))})
    same = [tuple(text or "" for text in row) for row in rows * repeated]
    _check_numbers(same, *partition_numbers(files, names))
    # and where each piece has told its values by itself
    if pieces := [with_codes(files.slice(at, 7), names) for at in range(0, files.num_rows, 7)]:
        found = numbered(pa.concat_tables(pieces), names)
        _check_numbers(same, found.numbers, found.firsts)


def _check_numbers(rows: list[tuple[str, ...]], numbers: Numbers, firsts: Numbers) -> None:
    known = {row: int(number) for row, number in zip(rows, numbers, strict=True)}
    assert [known[row] for row in rows] == numbers.tolist()
    assert sorted(known.values()) == [*range(len(known))]
    assert firsts.tolist() == [numbers.tolist().index(at) for at in range(len(known))]


def test_files_without_bounds_are_counted_and_not_guessed(folder: LogFolder) -> None:
    files = [add("a", stats=bounds(0, 5)), add("b")]
    found = depth(table_of(folder, files))
    assert (found["num_files"], found["files_without_bounds"]) == (2, 1)
    folder.commit(1, [{"remove": {"path": "a", "dataChange": True}}])
    found = depth(explorer.open_table(folder.root).snapshot())
    assert (found["mean_depth"], found["max_depth"]) == (None, None)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-20, 20), st.integers(0, 15)),
        min_size=1,
        max_size=25,
    )
)
def test_depth_is_what_counting_file_by_file_finds(files: list[tuple[int, int, int]]) -> None:
    spans = [(part, low, low + width) for part, low, width in files]
    facts = pa.table(
        {
            "path": [str(at) for at in range(len(spans))],
            "min.id": [low for _, low, _ in spans],
            "max.id": [high for _, _, high in spans],
        }
    )
    points = [(part, point) for part, low, high in spans for point in (low, high)]
    counts = [
        sum(part == other and low <= point <= high for other, low, high in spans)
        for part, point in points
    ]
    alone = sum(
        sum(part == p and low <= h and lo <= high for p, lo, h in spans) == 1
        for part, low, high in spans
    )
    partitions = np.asarray([part for part, _, _ in spans], np.int64)
    found = depths_of(facts, "id", partitions)
    assert (found.num_files, found.files_without_bounds) == (len(spans), 0)
    assert (found.max_depth, found.files_alone) == (max(counts), alone)
    assert found.mean_depth is not None
    assert found.mean_partition_files is not None
    assert math.isclose(found.mean_depth, sum(counts) / len(counts))
    together = [sum(part == other for other, *_ in spans) for part, *_ in spans]
    assert math.isclose(found.mean_partition_files, sum(together) / len(together))
    assert found.mean_depth <= found.mean_partition_files * (1 + 1e-12)


_TEXTS = st.one_of(
    st.text("ab\0\x01\x7fé☃\U0001f600", max_size=4),
    st.text("012", min_size=1, max_size=3).map(lambda digits: f"order-{digits}"),
    st.sampled_from(
        ["", "a long text", "a long text, and longer", "prefix-1234567", "prefix-12345678"]
    ),
    st.text("ab\0", max_size=3).map(lambda end: f"eight by eight, and {end}"),
    st.sampled_from(["x" * 64, "x" * 64 + "a", "x" * 64 + "b", "x" * 72]),
    # texts that end where others go on, eight bytes after eight bytes
    st.builds(lambda sign, count: sign * count, st.sampled_from("vw"), st.integers(6, 26)),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), _TEXTS, _TEXTS), min_size=1, max_size=12),
    st.sampled_from([1, 2**40, 2**59]),
)
@example(files=[(0, "v", "w" * 8), (0, "w" * 16, "w" * 24), (0, "w" * 17, "w" * 32)], wide=1)
def test_texts_and_numbers_overlap_as_their_places_in_order_do(
    files: list[tuple[int, str, str]], wide: int
) -> None:
    texts = sorted({text for _, *ends in files for text in ends}, key=str.encode)
    partitions = np.asarray([part for part, *_ in files], np.int64)
    spans = [sorted(texts.index(end) for end in ends) for _, *ends in files]

    def found(values: list[Any]) -> Depths:
        lows, highs = ([values[span[side]] for span in spans] for side in (0, 1))
        facts = pa.table({"path": [""] * len(spans), "min.id": lows, "max.id": highs})
        return depths_of(facts, "id", partitions)

    expected = found([*range(len(texts))])
    assert found([*texts]) == expected
    assert found([at * wide - 2**62 for at in range(len(texts))]) == expected
    assert found([at / 4 - 1.5 for at in range(len(texts))]) == expected
    far = [math.copysign(2.0 ** (40 * abs(at - 3)), at - 3) for at in range(len(texts))]
    assert found(far) == expected
    assert found([0.0 if at == 3 else value for at, value in enumerate(far)]) == expected
    # 0 and -0 are one value, in either width
    halves = pa.array([-0.0, 0.0], pa.float32())
    facts = pa.table({"path": ["", ""], "min.id": halves, "max.id": halves})
    assert depths_of(facts, "id", np.zeros(2, np.int64)).max_depth == 2


def test_one_reading_tells_what_sizes_and_overlap_tell_apart(folder: LogFolder) -> None:
    """Statistics of which one value cannot be read bound nothing, and count rows all the same."""
    part = [{"part": "a"}, {"part": "b"}]
    files = [
        add("a", partitionValues=part[0], stats=bounds(0, 5), deletionVector=vector()),
        add("b", partitionValues=part[0], stats=bounds(3, 9)),
        add("c", partitionValues=part[1], stats='{"numRecords":7,"minValues":{"id":"no"}}'),
        add("d", partitionValues=part[1]),
        add("e", partitionValues=part[1], stats=bounds(1, 1)),
    ]
    snapshot = table_of(folder, files, partitionColumns=["part"])
    found = ANSWERS["layout"].ask(explorer.open_table(folder.root), None, target=MB)
    apart = look.file_layout(snapshot, MB)
    assert (found.sizes.sizes, found.sizes.partitions) == (apart.sizes, apart.partitions)
    assert found.columns.equals(look.clustering_depth(snapshot))
    rows = {dict(row["partition"])["part"]: row["num_rows"] for row in apart.partitions.to_pylist()}
    assert rows["b"] is None
    assert rows["a"] == 16


def test_clustering_columns_of_the_table_come_by_themselves(corpus: Path) -> None:
    table = explorer.open_table(corpus / "tables" / "spark44-clustering")
    named = {
        version: [
            (row["column"], row["is_clustering"])
            for row in look.clustering_depth(table.snapshot(version=version)).to_pylist()
        ]
        for version in (2, 4, 6)
    }
    assert named[2] == [("c", True), ("s.d", True)]
    assert named[4] == [("id", True)]
    # the table is no longer clustered: the first columns that have an order
    assert {is_clustering for _, is_clustering in named[6]} == {False}


def test_each_optimize_is_told_with_what_it_took_and_made(tmp_path: Path) -> None:
    copy_demo(tmp_path / "demo", LATELY)
    table = explorer.open_table(tmp_path / "demo")
    rows = look.optimize_effects(table).to_pylist()
    optimizes = [row for row in table.history().to_pylist() if row["operation"] == "OPTIMIZE"]
    assert [row["version"] for row in rows] == [row["version"] for row in optimizes]
    for row in rows:
        before = table.snapshot(version=row["version"] - 1)
        after = table.snapshot(version=row["version"])
        assert before.num_files - after.num_files == row["files_before"] - row["files_after"]
        change = before.size_in_bytes - after.size_in_bytes
        assert change == row["bytes_before"] - row["bytes_after"]
        removed = before.num_deletion_vectors - after.num_deletion_vectors
        assert removed == row["deletion_vectors_removed"]
        assert row["mean_before"] < row["mean_after"]


def test_table_that_was_never_optimized_has_no_rows(folder: LogFolder) -> None:
    table_of(folder, [{"commitInfo": {"operation": "WRITE"}}, add("a")])
    assert look.optimize_effects(explorer.open_table(folder.root)).num_rows == 0


def optimized(folder: LogFolder, before: int, after: int, **info: Any) -> None:
    """Version 0 with so many small files, version 1 an OPTIMIZE that makes others of them."""
    old = [add(f"o{at}", size=100) for at in range(before)]
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), *old])
    gone = [remove(f"o{at}", size=100, dataChange=False) for at in range(before)]
    new = [add(f"n{at}", size=2_000 // after, dataChange=False) for at in range(after)]
    folder.commit(1, [{"commitInfo": {"operation": "OPTIMIZE", **info}}, *new, *gone])


def verdicts(folder: LogFolder) -> list[str | None]:
    rows = look.optimize_effects(explorer.open_table(folder.root)).to_pylist()
    return [row["verdict"] for row in rows]


WRITE: Action = {"commitInfo": {"operation": "WRITE"}}


def test_optimize_after_which_no_file_count_fell_gets_that_verdict(folder: LogFolder) -> None:
    optimized(folder, 20, 20)
    assert verdicts(folder) == ["no fewer files"]


def test_what_else_an_optimize_did_is_said_where_no_file_count_fell(folder: LogFolder) -> None:
    optimized(
        folder, 20, 20,
        operationParameters={"predicate": "[]", "zOrderBy": '["day","id"]'},
        operationMetrics={"numDeletionVectorsRemoved": "3"},
    )  # fmt: skip
    assert verdicts(folder) == [
        "no fewer files, 3 deletion vectors removed, rows ordered by day, id"
    ]


def test_optimize_that_appends_undid_gets_that_verdict(folder: LogFolder) -> None:
    optimized(folder, 20, 1)
    assert verdicts(folder) == ["19 fewer files"]
    for version in range(2, 62):
        folder.commit(version, [WRITE, add(f"f{version}", size=100)])
        if version == 6:
            assert verdicts(folder) == ["19 fewer files; 5 smaller files added since, in 5 commits"]
    assert verdicts(folder) == ["undone: 60 smaller files added since, in 60 commits"]
    (row,) = look.optimize_effects(explorer.open_table(folder.root)).to_pylist()
    assert (row["files_since"], row["commits_since"]) == (60, 60)


def test_optimize_is_not_undone_by_files_of_the_size_that_it_wrote(folder: LogFolder) -> None:
    optimized(folder, 20, 1)
    for version in range(2, 32):
        folder.commit(version, [WRITE, add(f"f{version}", size=2_000)])
    assert verdicts(folder) == ["19 fewer files"]


def test_what_came_after_the_next_optimize_is_no_longer_held_against_one(
    folder: LogFolder,
) -> None:
    optimized(folder, 20, 1)
    for version in range(2, 5):
        folder.commit(version, [WRITE, add(f"f{version}", size=100)])
    gone = [remove(path, size=100, dataChange=False) for path in ("f2", "f3", "f4", "n0")]
    again = {"commitInfo": {"operation": "OPTIMIZE"}}
    folder.commit(5, [again, add("m", size=2_300, dataChange=False), *gone])
    for version in range(6, 70):
        folder.commit(version, [WRITE, add(f"f{version}", size=100)])
    newest, oldest = verdicts(folder)
    assert newest == "undone: 64 smaller files added since, in 64 commits"
    assert oldest == "19 fewer files; 3 smaller files added since, in 3 commits"


def test_optimize_that_cannot_be_read_gets_no_verdict(folder: LogFolder) -> None:
    optimized(folder, 2, 1)
    place = folder.log / f"{1:020}.json"
    place.write_text(place.read_text().replace('"size": 100', '"size": "x"'))
    assert verdicts(folder) == [None]
