"""Invented tables on both routes against a model that works on plain Python values."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from tests.change_feeds import hiding
from tests.data_tables import DataTable, field, mapped, struct

_PARTS = st.sampled_from([None, "x", "a b", "%", "ü"])
_ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.text("ab\0ü", max_size=3)
    ),
    max_size=6,
)


@st.composite
def _tables(draw: Any) -> dict[str, Any]:
    """Files with their partition, rows and hidden positions; and whether columns are mapped."""
    files = []
    for rows in draw(st.lists(_ROWS, min_size=1, max_size=3)):
        hidden = draw(st.sets(st.integers(0, len(rows) - 1))) if rows else set()
        files.append((draw(_PARTS), rows, sorted(hidden)))
    return {"files": files, "mapped": draw(st.booleans()), "where": draw(st.booleans())}


def _written(root: Path, told: dict[str, Any]) -> explorer.Snapshot:
    is_mapped = told["mapped"]
    names = ("col-1", "col-2", "col-3") if is_mapped else ("n", "s", "p")
    kinds = ("long", "string", "string")
    fields = [
        mapped(name, kind, physical, at) if is_mapped else field(name, kind)
        for at, (name, kind, physical) in enumerate(
            zip(("n", "s", "p"), kinds, names, strict=True), start=1
        )
    ]
    table = DataTable(
        root,
        struct(*fields),
        features=("deletionVectors", *(["columnMapping"] if is_mapped else [])),
        configuration={"delta.columnMapping.mode": "name"} if is_mapped else {},
        partitionColumns=["p"],
    )
    for at, (part, rows, hidden) in enumerate(told["files"]):
        columns = {
            names[0]: pa.array([row[0] for row in rows], pa.int64()),
            names[1]: pa.array([row[1] for row in rows], pa.string()),
        }
        fields_of_add: dict[str, Any] = hiding(*hidden) if hidden else {}
        table.add(
            f"{at}.parquet",
            pa.table(columns),
            partitionValues={names[2]: part},
            stats=f'{{"numRecords":{len(rows)}}}',
            **fields_of_add,
        )
    return explorer.open_table(table.write()).snapshot()


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(_tables())
def test_both_routes_show_what_no_vector_hides(spark: SparkSession, told: dict[str, Any]) -> None:
    wanted = Counter(
        (*row, part)
        for part, rows, hidden in told["files"]
        for at, row in enumerate(rows)
        if at not in hidden and (not told["where"] or (row[0] is not None and row[0] >= 0))
    )
    with tempfile.TemporaryDirectory() as folder:
        snapshot = _written(Path(folder) / "t", told)
        where = "n >= 0" if told["where"] else None
        for route in ("parquet", "files"):
            found = pipeline.read(snapshot, spark, where=where, route=route).collect()
            assert Counter(map(tuple, found)) == wanted, route
