"""Real tables: rows of their own columns change nothing, and every one that may be written takes
another column, whole new ones, and a new beginning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import InvalidArgumentError
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.schema import STRING, StructField, StructType
from explorer.protocol.schema_walk import map_fields
from explorer.transaction.read_version import read_version_of
from explorer.writing.schema.new_table import build_replaced_table, build_table_of_rows
from explorer.writing.schema.schema_change import merge_schema, overwrite_schema
from tests.corpus import READABLE, place_table, table_name

_NOT_WRITTEN = {
    "deltars-table_with_liquid_clustering": "`liquid`",
    "golden-collations-table": "`collations`",
    "kernel-table-with-geo": "geo",
}
# columns that a table without a mapping cannot have under such names
_ODD_NAMES = {"spark44-cdf-all-operations", "spark44-mapping-id-mode"}
_SECOND_KEY = "parquet.field.nested.ids"
_NEW = StructField(name="brand_new", data_type=STRING)


def _without_second_ids(schema: StructType) -> StructType:
    def bare(field: StructField) -> StructField:
        kept = {key: value for key, value in field.metadata.items() if key != _SECOND_KEY}
        return replace(field, metadata=kept)

    return map_fields(schema, bare)


@pytest.mark.slow
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_every_table_that_may_be_written_takes_other_columns(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    snapshot = explorer.open_table(place_table(expected, tmp_path)).snapshot()
    base, held = read_version_of(snapshot), snapshot.schema
    wide = StructType(fields=(*held.fields, _NEW))
    assert merge_schema(base, held) is None
    if expected["name"] in _NOT_WRITTEN:
        with pytest.raises(InvalidArgumentError, match=_NOT_WRITTEN[expected["name"]]):
            merge_schema(base, wide)
        return
    merged = merge_schema(base, wide)
    assert merged.schema.names == wide.names
    # ids of elements stand under a second key once a writer here has brought a schema
    before, *after = map(_without_second_ids, (held, merged.schema))
    assert after[0].fields[:-1] == before.fields
    assert merged.metadata.partition_columns == snapshot.metadata.partition_columns
    assert overwrite_schema(base, wide).schema.names == wide.names
    # as whoever describes it by its own columns and properties
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    asked = {"delta.columnMapping.mode": mode, "delta.feature.allowColumnDefaults": "supported"}
    described = {"now_ms": 1, "partition_by": snapshot.metadata.partition_columns}
    again = build_replaced_table(base, wide, properties=asked, **described)
    assert again.schema.names == wide.names
    assert again.metadata.id == snapshot.metadata.id
    if expected["name"] in _ODD_NAMES:
        with pytest.raises(InvalidArgumentError, match="columnMapping"):
            build_table_of_rows(held, **described)
        return
    assert build_table_of_rows(held, **described).schema.names == held.names
