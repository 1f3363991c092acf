"""Lines of the log that other readers read all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.errors import CorruptLogError
from explorer.log.commits.commit_file import DeviatingLine, parse_action
from tests.data_tables import field, struct
from tests.tables import PROTOCOL, LogFolder, add, metadata

SCHEMA = json.dumps(struct(field("id", "long"), field("p", "decimal(38,0)")))


def write(root: Path, *adds: object) -> LogFolder:
    folder = LogFolder(root / "t")
    folder.commit(0, [PROTOCOL, metadata(schemaString=SCHEMA, partitionColumns=["p"]), *adds])
    return folder


def rewrite(folder: LogFolder, version: int, change: object) -> None:
    place = folder.root / "_delta_log" / f"{version:020}.json"
    place.write_bytes(change(place.read_bytes()))


def test_a_stray_x_behind_each_action_is_told_once_and_passed_over(tmp_path: Path) -> None:
    folder = write(tmp_path, add("a"), add("b"))
    folder.commit(1, [add("c")])
    for version in (0, 1):
        rewrite(folder, version, lambda data: data.replace(b"}\n", b"}x\n"))
    table = explorer.open_table(folder.root)
    snapshot = table.snapshot()
    assert snapshot.num_files == 3
    (problem,) = snapshot.problems
    assert (problem.kind, problem.place) == ("log_corrupt", "00000000000000000000.json:1")
    assert "5 lines of 2 log files" in problem.reason
    assert table.history().num_rows == 2


@pytest.mark.parametrize(
    "line",
    [
        b'{"add":{"path":"a"}}xx',
        b'{"add":{"path":"a"}}y',
        b'{"add":{"path":"a"}}{"add":{"path":"b"}}',
        b'{"add":{"path":"a"}}x{"add":{"path":"b"}}x',
        b'{"add":{"path":"a"}',
        b"x",
    ],
)
def test_two_documents_on_a_line_and_other_ends_stay_an_error(line: bytes) -> None:
    with pytest.raises(CorruptLogError, match=r"not readable at a\.json:3"):
        parse_action(line, "a.json", 3)


def test_a_byte_order_mark_is_passed_over_before_the_first_line_alone(tmp_path: Path) -> None:
    folder = write(tmp_path, add("a"))
    rewrite(folder, 0, lambda data: b"\xef\xbb\xbf" + data)
    snapshot = explorer.open_table(folder.root).snapshot()
    assert snapshot.num_files == 1
    assert [problem.place for problem in snapshot.problems] == ["00000000000000000000.json:1"]
    with pytest.raises(CorruptLogError, match="not JSON"):
        parse_action(b'\xef\xbb\xbf{"add":{}}', "a.json", 2)


@pytest.mark.rule("partition-strings")
def test_partition_values_that_are_numbers_are_read_with_all_their_digits(tmp_path: Path) -> None:
    number = 12345678901234567890123456789012345678
    folder = write(tmp_path, add("a", partitionValues={"p": number}), add("b"))
    snapshot = explorer.open_table(folder.root).snapshot()
    (values,) = [row["partition_values"] for row in snapshot.files().to_pylist()][:1]
    assert dict(values) == {"p": str(number)}
    assert [problem.place for problem in snapshot.problems] == ["00000000000000000000.json:3"]
    plan = explorer.plan_scan(snapshot, f"p = {number}")
    assert plan.kept.column("path").to_pylist() == ["a"]


def test_numbers_in_a_long_commit_are_read_like_those_in_a_short_one(tmp_path: Path) -> None:
    adds = [add(f"{at:06}", partitionValues={"p": at}) for at in range(2000)]
    folder = write(tmp_path, *adds)
    snapshot = explorer.open_table(folder.root).snapshot()
    texts = pa.concat_arrays(
        [chunk.items for chunk in snapshot.files().column("partition_values").chunks]
    )
    assert texts.to_pylist() == [str(at) for at in range(2000)]
    assert "2,000 lines" in snapshot.problems[0].reason


def test_what_a_number_stands_for_is_its_digits_and_a_truth_value_its_word() -> None:
    odd: list[DeviatingLine] = []
    line = b'{"remove":{"path":"a","partitionValues":{"a":1.50,"b":true,"c":null,"d":"x"}}}'
    action = parse_action(line, "a.json", 1, odd)
    values = {"a": "1.50", "b": "true", "c": None, "d": "x"}
    assert action["remove"]["partitionValues"] == values
    assert odd == [DeviatingLine("partition value", "a.json", 1)]


def test_a_partition_value_that_is_an_object_stays_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path, add("a", partitionValues={"p": {"q": 1}}))
    with pytest.raises(CorruptLogError, match="partitionValues"):
        explorer.open_table(folder.root).snapshot().files()
