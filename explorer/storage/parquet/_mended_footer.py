"""Footers that pyarrow refuses for what other readers pass over (Parquet: File Metadata).

parquet-mr 1.11.0 says of the groups that hold the entries of a map that they are of the logical
type for columns of nulls alone (PARQUET-1879). The type that stands beside it, which older
writers have, is right, and the newer parquet-mr, in Spark too, goes by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.storage.parquet._page_headers import read_footer
from explorer.storage.parquet._thrift_compact import Struct, parse_struct, render_struct

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# FileMetaData, SchemaElement, LogicalType
_SCHEMA = 2
_NUM_CHILDREN, _LOGICAL_TYPE = 5, 10
_NULLS = 11

_MAGIC = b"PAR1"


def read_mended(file: pa.NativeFile) -> pq.FileMetaData | None:
    """The footer without the logical type of nulls on its groups; None where no group has it,
    where it has more than 512 KiB, and where it cannot be followed.

    Raises what pyarrow raises where there is more that it cannot read.
    """
    footer = _mended(read_footer(file))
    if footer is None:
        return None
    import pyarrow as pa  # noqa: PLC0415  # opening a table does without it
    import pyarrow.parquet as pq

    length = len(footer).to_bytes(4, "little")
    return pq.read_metadata(pa.BufferReader(_MAGIC + footer + length + _MAGIC))


def _mended(footer: bytes | None) -> bytes | None:
    if footer is None:
        return None
    try:
        fields = parse_struct(footer)
        _, (_, elements) = fields[_SCHEMA]
        wrong = [element for element in elements if _is_group_of_nulls(element)]
    except (KeyError, TypeError, ValueError):  # of other types than Parquet has there
        return None
    for element in wrong:
        del element[_LOGICAL_TYPE]
    return render_struct(fields) if wrong else None


def _is_group_of_nulls(element: Struct) -> bool:
    if _NUM_CHILDREN not in element or _LOGICAL_TYPE not in element:
        return False
    _, logical_type = element[_LOGICAL_TYPE]
    return isinstance(logical_type, dict) and _NULLS in logical_type
