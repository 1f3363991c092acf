"""What is very large, claims to be, or never ends: bounded memory, bounded time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from tests.conftest import ROOT
from tests.data_tables import DataTable, field, struct
from tests.faults.case import state_at_1, three_versions
from tests.lying_pages import DICTIONARY_PAGE, NUM_VALUES, SIZE, change_page
from tests.tables import PROTOCOL, Action, LogFolder, add, commit_name, metadata

_MIB = 2**20
_LARGE = 200 * _MIB


def _measured(place: Path, *also: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.measured", str(place), *also],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,  # far beyond what it needs on a loaded machine; a hang is for ever
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _large(name: str) -> Action:
    text = "x" * _LARGE
    return {
        "path": lambda: add(text),
        "escapes": lambda: add("a", stats='{"numRecords":3,"a":[' + '"",' * (_LARGE // 5) + "0]}"),
        "description": lambda: metadata(description="é" * (_LARGE // 2)),
        "provenance": lambda: {"commitInfo": {"operationParameters": {"query": text}}},
    }[name]()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What such a process holds when it has opened a table of some files, and some air: 90 or
    110 MiB, for kernels differ in how much of a library they count."""
    log = LogFolder(tmp_path_factory.mktemp("small"))
    log.commit(0, [PROTOCOL, metadata(), *(add(f"{at}") for at in range(2_000))])
    peak: int = _measured(log.root)["peak"]
    return peak + 10 * _MIB


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("name", ["path", "escapes", "description", "provenance"])
def test_200_mb_in_one_action_cost_at_most_five_times_their_size(
    name: str, base: int, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "large")
    size = log.commit(0, [PROTOCOL, metadata(), _large(name)]).stat().st_size
    assert size > 0.9 * _LARGE
    found = _measured(log.root)
    assert found["error"] is None
    assert found["commits"] == 1
    assert found["peak"] < 5 * size + base


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("inside", ["table", "struct"])
def test_schema_of_very_many_columns_costs_at_most_five_times_its_size(
    inside: str, base: int, tmp_path: Path
) -> None:
    # as short as columns can be: the objects that stand for them weigh most beside them
    column = '{"name":"%d","type":"long","nullable":true,"metadata":{}}'
    struct = '{"type":"struct","fields":[' + ",".join(column % at for at in range(500_000)) + "]}"
    field = '{"name":"s","type":' + struct + ',"nullable":true,"metadata":{}}'
    nested = '{"type":"struct","fields":[' + field + "]}"
    log = LogFolder(tmp_path / "wide")
    schema = metadata(schemaString=struct if inside == "table" else nested)
    size = log.commit(0, [PROTOCOL, schema, add("a")]).stat().st_size
    found = _measured(log.root, "schema")
    assert (found["error"], found["columns"]) == (None, 500_000 if inside == "table" else 1)
    assert found["peak"] < 5 * size + base


def test_action_that_is_wrong_and_large_costs_no_more(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "large")
    wrong = add("a") | {"add": {"path": ["x" * _LARGE]}}
    size = log.commit(0, [PROTOCOL, metadata(), wrong]).stat().st_size
    found = _measured(log.root)
    assert found["error"] == "log_corrupt"
    assert found["peak"] < 5 * size


def test_commit_of_endless_short_lines_is_read_in_bounded_memory(base: int, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    size = log.write(commit_name(1), "\n \n{}\n" * _MIB).stat().st_size
    found = _measured(log.root)
    assert (found["error"], found["files"]) == (None, 1)
    assert found["peak"] < 5 * size + base


# --- Parquet that claims more than it holds --------------------------------------


def _varint(number: int) -> bytes:
    """A signed integer of Thrift's compact protocol: zigzag, seven bits a byte."""
    rest, found = number << 1 if number >= 0 else (-number << 1) - 1, bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def _claim(place: Path, honest: int, claimed: int) -> int:
    """Replace every integer `honest` of a footer; how many there were."""
    data = place.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    pages, footer = data[: -8 - length], data[-8 - length : -8]
    times = footer.count(_varint(honest))
    footer = footer.replace(_varint(honest), _varint(claimed))
    place.write_bytes(pages + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return times


@pytest.mark.parametrize(
    ("what", "claimed"),
    [("rows", 2**31), ("rows", 2**40), ("rows", -1), ("page bytes", 2**40), ("page bytes", -1)],
)
def test_footer_that_claims_too_much_is_a_problem(what: str, claimed: int, tmp_path: Path) -> None:
    log = three_versions(tmp_path)
    # a number of rows that no other integer of the footer is
    state = [*state_at_1(), *({"txn": {"appId": str(at), "version": 1}} for at in range(4001))]
    (place,) = log.checkpoint(1, state)
    column = pq.ParquetFile(place).metadata.row_group(0).column(0)
    honest = len(state) if what == "rows" else column.total_uncompressed_size
    assert _claim(place, honest, claimed)
    found = _measured(log.root)
    assert (found["error"], found["files"], found.get("paths")) == (None, 3, 3), found
    assert found["peak"] < 400 * _MIB
    # a size that nobody needs for reading may lie unseen; rows may not
    assert what != "rows" or found["problems"] == ["checkpoint_unusable"]


def test_footer_longer_than_its_file_is_a_problem(tmp_path: Path) -> None:
    for at, length in enumerate((0, 1, 2**20, 2**31 - 1, 2**31, 2**32 - 1)):
        log = three_versions(tmp_path / str(at))
        (place,) = log.checkpoint(1, state_at_1())
        data = place.read_bytes()
        place.write_bytes(data[:-8] + length.to_bytes(4, "little") + b"PAR1")
        snapshot = explorer.open_table(log.root).snapshot()
        assert snapshot.num_files == 3
        assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


_DICTIONARY_COUNT = ("dictionary", (DICTIONARY_PAGE, NUM_VALUES))


@pytest.mark.parametrize(
    ("values", "which", "path"),
    [
        (pa.array(["a", "b"] * 500), *_DICTIONARY_COUNT),
        (pa.array(range(1000), pa.int64()), *_DICTIONARY_COUNT),
        (pa.array(["a", "b"] * 500), "data", (SIZE,)),
    ],
    ids=["texts", "numbers", "page"],
)
def test_page_of_a_data_file_that_claims_too_much_costs_no_memory(
    values: pa.Array, which: Literal["dictionary", "data"], path: tuple[int, ...], tmp_path: Path
) -> None:
    kind = "string" if pa.types.is_string(values.type) else "long"
    honest, lying = (DataTable(tmp_path / name, struct(field("a", kind))) for name in "ab")
    rows = pa.table({"a": values})
    honest.add("x.parquet", rows)
    change_page(lying.add("x.parquet", rows), which, path, 2**31 - 1)
    base, found = (_measured(table.write(), "rows") for table in (honest, lying))
    assert (base["error"], found["error"]) == (None, "data_corrupt"), found
    assert "claims" in found["reason"]
    assert found["peak"] < base["peak"] + 30 * _MIB
    # pyarrow would ask for 33 GiB, 16 GiB and 2 GiB
    assert found["asked"] < base["asked"] + 500 * _MIB


def test_page_of_a_checkpoint_that_claims_too_much_is_a_problem_and_costs_no_memory(
    tmp_path: Path,
) -> None:
    log = three_versions(tmp_path)
    (place,) = log.checkpoint(1, state_at_1())
    group = pq.ParquetFile(place).metadata.row_group(0)
    leaves = [group.column(at).path_in_schema for at in range(group.num_columns)]
    base = _measured(log.root)
    # pyarrow would ask for 33 GiB, and use none of it
    change_page(place, *_DICTIONARY_COUNT, 2**31 - 1, leaves.index("add.path"))
    found = _measured(log.root)
    assert (found["error"], found["files"], found["paths"]) == (None, 3, 3)
    assert (base["problems"], found["problems"]) == ([], ["checkpoint_unusable"])
    assert found["peak"] < base["peak"] + 30 * _MIB
    assert found["asked"] < base["asked"] + 500 * _MIB


# --- what never ends --------------------------------------------------------------


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def _nowhere(place: Path) -> None:
    place.symlink_to("nowhere")


_NO_FILES = pytest.mark.parametrize(
    "make", [_pipe, _endless, _nowhere], ids=["pipe", "device", "dangling link"]
)


@_NO_FILES
def test_what_is_no_file_is_no_part_of_the_log(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    log = three_versions(tmp_path)
    for name in ("_last_checkpoint", f"{2:020}.crc", "stray", f"{2:020}.checkpoint.parquet"):
        make(log.log / name)
    found = _measured(log.root)  # within its time limit
    assert (found["error"], found["files"]) == (None, 3)


@_NO_FILES
def test_commit_that_is_no_file_does_not_hang_the_reader(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    log = three_versions(tmp_path)
    make(log.log / commit_name(3))
    found = _measured(log.root)
    assert (found["error"], found["files"]) in [(None, 3), ("storage_failed", None)]
