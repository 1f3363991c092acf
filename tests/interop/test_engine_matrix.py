"""What the engine matrix says of delta-rs, against the release that is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import explorer
import explorer.inspect as look
from explorer.protocol.features.registry import FEATURES
from tests.tables import Action, LogFolder, add, metadata

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "part": ["a", "b", "c"]})


def named(name: str) -> Action:
    item = FEATURES.get(name)
    body: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 7}
    if item is None or item.kind == "reader-writer":
        body |= {"minReaderVersion": 3, "readerFeatures": [name]}
    return {"protocol": body | {"writerFeatures": [name]}}


def numbered(reader: int, writer: int) -> Action:
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer}}


CASES = {
    **{name: named(name) for name in [*FEATURES, "fromTheFuture", "DeletionVectors"]},
    **{
        f"versions {reader} and {writer}": numbered(reader, writer)
        for reader, writer in [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 5), (2, 6)]
    },
}


@pytest.mark.parametrize("protocol", CASES.values(), ids=CASES.keys())
def test_the_newest_release_reads_and_appends_where_the_matrix_says_so(
    tmp_path: Path, protocol: Action
) -> None:
    folder = LogFolder(tmp_path / "table")
    pq.write_table(ROWS, folder.root / "a.parquet")
    size = (folder.root / "a.parquet").stat().st_size
    folder.commit(0, [protocol, metadata(), add("a.parquet", size=size)])
    frame = look.engines(explorer.open_table(folder.root))
    (row,) = (row for row in frame.to_pylist() if row["engine"] == "delta-rs" and row["newest"])
    assert row["release"] == deltalake.__version__
    assert row["can_read"] in ("unknown", "yes" if _reads(folder) else "no")
    assert row["can_write"] in ("unknown", "yes" if _appends(folder) else "no")


def _reads(folder: LogFolder) -> bool:
    try:
        query = QueryBuilder().register("t", DeltaTable(folder.root))
        return int(query.execute("select id from t").read_all().num_rows) == ROWS.num_rows
    except deltalake.exceptions.DeltaError:
        return False


def _appends(folder: LogFolder) -> bool:
    try:
        write_deltalake(folder.root, ROWS, mode="append")
    except deltalake.exceptions.DeltaError:
        return False
    return (folder.log / f"{1:020}.json").is_file()
