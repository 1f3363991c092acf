"""One partition: its files alone are counted, and as the list of partitions counts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import InvalidArgumentError
from tests.data_tables import mapped, struct
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, vector

MB = 2**20
STATS = json.dumps({"numRecords": 10})
MAPPED = struct(mapped("id", "long", "col-1", 1), mapped("part", "string", "col-2", 2))


def file(at: int, part: str | None, size: int, **fields: Any) -> Any:
    values = {"part": part, "day": "2026-11-01"}
    return add(f"{at}.parquet", size=size, partitionValues=values, stats=STATS, **fields)


def table(folder: Path, *files: Any, checkpoint: bool = False) -> explorer.Snapshot:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("id", "long"), ("part", "string"), ("day", "date"))
    ]
    described = metadata(
        schemaString=json.dumps({"type": "struct", "fields": fields}),
        partitionColumns=["part", "day"],
        configuration={"delta.targetFileSize": "100mb"},
    )
    log = LogFolder(folder / "t")
    actions = [FEATURE_PROTOCOL, described, *files]
    log.commit(0, actions)
    if checkpoint:
        log.checkpoint(0, actions)
        log.commit(1, [])
    return explorer.open_table(log.root).snapshot()


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_partition_is_counted_as_the_list_counts_it(tmp_path: Path, checkpoint: bool) -> None:
    files = [
        file(0, "a", 4 * MB), file(1, "a", 8 * MB, deletionVector=vector(cardinality=3)),
        file(2, "a", 200 * MB), file(3, "b", 7), file(4, None, 50), file(5, "", 60),
    ]  # fmt: skip
    snapshot = table(tmp_path, *files, checkpoint=checkpoint)
    found = look.partition_layout(snapshot, {"part": "a", "day": "2026-11-01"})
    assert (found.num_files, found.size_in_bytes) == (3, 212 * MB)
    assert (found.num_rows, found.num_deleted_rows) == (27, 3)
    assert (found.smallest, found.median, found.largest) == (4 * MB, 8 * MB, 200 * MB)
    assert found.sizes.column("num_files").to_pylist() == [1, 1, 1]
    assert found.condition == "part = 'a' AND day = '2026-11-01'"
    assert found.sentence == (
        "2 of 3 files are below the target of 100.0 MiB. Rewriting 12.0 MiB turns 2 small files "
        "into 1."
    )
    same = ("num_files", "bytes", "num_rows", "small_files", "small_bytes", "files_after",
            "files_saved")  # fmt: skip
    for row in look.file_layout(snapshot).partitions.to_pylist():
        one = look.partition_layout(snapshot, dict(row["partition"]))
        told = [one.size_in_bytes if name == "bytes" else getattr(one, name) for name in same]
        assert told == [row[name] for name in same]


def test_null_and_the_empty_text_are_one_partition(tmp_path: Path) -> None:
    snapshot = table(tmp_path, file(0, None, 50), file(1, "", 60), file(2, "null", 70))
    for value in (None, ""):
        found = look.partition_layout(snapshot, {"part": value, "day": "2026-11-01"})
        assert (found.num_files, found.size_in_bytes) == (2, 110)
        assert found.partition == {"part": None, "day": "2026-11-01"}
        assert found.condition == "part IS NULL AND day = '2026-11-01'"


def test_what_the_log_does_not_say_stays_unknown(tmp_path: Path) -> None:
    unknown = file(0, "a", 5)
    unknown["add"]["stats"] = None
    wrong = file(1, "b", 5, deletionVector=vector(cardinality=11))
    known = file(2, "c", 5)
    snapshot = table(tmp_path, unknown, file(3, "a", 6), wrong, known)

    def rows(part: str) -> tuple[int | None, int | None]:
        found = look.partition_layout(snapshot, {"part": part, "day": "2026-11-01"})
        return found.num_rows, found.num_deleted_rows

    assert rows("a") == (None, 0)
    assert rows("b") == (None, None)
    assert rows("c") == (10, 0)


def test_a_partition_that_the_version_lacks_has_no_files(tmp_path: Path) -> None:
    snapshot = table(tmp_path, file(0, "a", 5))
    found = look.partition_layout(snapshot, {"part": "a'b/c", "day": "2026-11-01"})
    assert (found.num_files, found.num_rows, found.smallest, found.median) == (0, 0, None, None)
    assert found.sentence == "Version 0 has no files in this partition."


@pytest.mark.parametrize("values", [{}, {"part": "a"}, {"part": "a", "day": None, "id": "1"}])
def test_values_of_other_columns_name_no_partition(
    tmp_path: Path, values: dict[str, str | None]
) -> None:
    snapshot = table(tmp_path, file(0, "a", 5))
    with pytest.raises(InvalidArgumentError, match="name no partition"):
        look.partition_layout(snapshot, values)
    with pytest.raises(InvalidArgumentError, match="name no partition"):
        look.files_page(snapshot, offset=0, limit=9, partition=values)


def test_a_table_with_mapped_columns_is_asked_by_logical_names(tmp_path: Path) -> None:
    described = metadata(
        schemaString=json.dumps(MAPPED),
        partitionColumns=["part"],
        configuration={"delta.columnMapping.mode": "name"},
    )
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    log = LogFolder(tmp_path / "mapped")
    files = [add(f"{part}.parquet", partitionValues={"col-2": part}) for part in "ab"]
    log.commit(0, [protocol, described, *files])
    snapshot = explorer.open_table(log.root).snapshot()
    found = look.partition_layout(snapshot, {"part": "a"})
    assert (found.num_files, found.condition) == (1, "part = 'a'")
    page = look.files_page(snapshot, offset=0, limit=9, partition={"part": "b"})
    assert page.rows.column("path").to_pylist() == ["b.parquet"]


def test_files_of_one_partition_are_listed_in_order(tmp_path: Path) -> None:
    files = [file(at, "ab"[at % 2] if at < 8 else None, 100 - at) for at in range(10)]
    snapshot = table(tmp_path, *files)

    def listed(part: str | None, **asked: Any) -> tuple[list[str], int]:
        values = {"part": part, "day": "2026-11-01"}
        page = look.files_page(snapshot, offset=0, limit=3, partition=values, **asked)
        return page.rows.column("path").to_pylist(), page.total

    assert listed("a") == (["0.parquet", "2.parquet", "4.parquet"], 4)
    assert listed("a", sort_by="size") == (["6.parquet", "4.parquet", "2.parquet"], 4)
    assert listed("a", contains="4.PAR") == (["4.parquet"], 1)
    assert listed(None) == (["8.parquet", "9.parquet"], 2)
    assert listed("none") == ([], 0)
