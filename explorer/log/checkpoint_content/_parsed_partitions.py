"""Partition values of files as the columns of a checkpoint
(spec: Checkpoints, Partition Value Serialization).

A table has few distinct values: each is parsed once and then looked up.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import string_scalar
from explorer.log.partition_arrays import partition_array
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.schema import StructField, parse_schema, render_type
from explorer.protocol.values.partition_values import parse_partition_value

PARSED: Final = "partitionValues_parsed"


class PartitionStruct:
    """The type of `partitionValues_parsed` of a table, and how its values are made; the
    fields are the partition columns, in their order, by physical names.

    Raises `UnsupportedError` where a column has a type without a rule for its values.
    """

    def __init__(self, protocol: Protocol, metadata: Metadata) -> None:
        fields = parse_schema(metadata.schema_string).fields
        by_name = {item.name: item for item in fields}
        mode = column_mapping_mode(protocol, metadata.configuration)
        columns = [by_name[name] for name in metadata.partition_columns if name in by_name]
        self._columns = {physical_name(item, mode): item for item in columns}
        self.type: pa.StructType = pa.struct(
            [(name, arrow_type(item.data_type)) for name, item in self._columns.items()]
        )

    def build(self, files: FileColumns) -> pa.StructArray:
        """The partition values of `files`, which were read with `partition_values`.

        Raises `CorruptLogError` for a value that is none of its column's type: as a
        column it would say null, and readers would skip the file.
        """
        maps = files.column("partition_values").combine_chunks()
        children = [
            _parse(pc.map_lookup(maps, string_scalar(name), "first"), item, field.type)
            for (name, item), field in zip(self._columns.items(), self.type, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(self.type))


def _parse(texts: pa.Array, item: StructField, kind: pa.DataType) -> pa.Array:
    encoded = pc.dictionary_encode(texts)
    name = render_type(item.data_type)
    values = [parse_partition_value(text, name) for text in encoded.dictionary.to_pylist()]
    return partition_array(values, kind).take(encoded.indices)
