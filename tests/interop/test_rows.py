"""The rows of the corpus as another reader has them, row for row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import explorer
from explorer.rows.read import read_rows
from tests.corpus import READABLE, place_table, table_name
from tests.row_values import counted_rows

# what the other reader refuses, or reads otherwise, and who is right
_OTHERWISE = {
    "deltars-table_with_edge_timestamps": "its INT96 times wrap around beyond the year 2262",
    "golden-basic-with-vacuum-protocol-check-feature": "does not know vacuumProtocolCheck",
    "golden-canonicalized-paths-normal-a": "does not find files by absolute paths",
    "golden-type-widening": "does not know typeWidening-preview",
    "javakernel-spark-shredded-variant-preview-delta": "does not know variantShredding-preview",
    "kernel-table-with-geo": "does not know geometry",
    "kernel-unshredded-variant": "answers the bytes of variants, not their values",
    "spark-variant-stats-state-reconstruction": "does not know variantShredding-preview",
    "spark44-type-widening": "does not know typeWidening",
    "spark44-variant-plain": "answers the bytes of variants, not their values",
    "spark44-variant-shredded": "does not know variantShredding-preview",
}
_LARGE = 100_000
_COMPARED = [
    table
    for table in READABLE
    if table.get("data_files") != "absent" and table["num_rows_live"] < _LARGE
]


def _their_rows(place: Path) -> pa.Table:
    table = deltalake.DeltaTable(str(place))
    query = deltalake.QueryBuilder().register("t", table).execute("select * from t")
    return pa.table(query.read_all())


@pytest.mark.rule("dv-rows-not-returned", "mapping-name-physical")
@pytest.mark.parametrize("expected", _COMPARED, ids=table_name)
def test_deltalake_reads_the_same_rows(expected: dict[str, Any], tmp_path: Path) -> None:
    place = place_table(expected, tmp_path)
    ours = read_rows(explorer.open_table(place).snapshot())
    if expected["name"] in _OTHERWISE:
        try:
            theirs = _their_rows(place)
        except Exception:  # noqa: BLE001  # its errors have no common base
            return
        assert counted_rows(ours) != counted_rows(theirs, ours.column_names), "take it off the list"
        return
    theirs = _their_rows(place)
    assert counted_rows(ours) == counted_rows(theirs, ours.column_names)
