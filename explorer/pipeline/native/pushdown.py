"""Which filters Spark's Parquet reader must not be handed (spec: Data Files).

Spark hands a comparison of a column with a literal to its Parquet reader, whoever wrote
it: `where`, or a filter on the frame later. The reader then leaves out row groups, pages and
dictionaries by what the file says of them, and for some types that is less than what
Spark's own comparison means:

- float, double: bounds leave NaN out, which Spark holds to be greater than every number,
  and a dictionary with -0.0 alone is taken to hold no 0.0
- timestamp: where a file has milliseconds, the literal is cut to them, so that `t < ….0055`
  leaves out a file that holds ….005 alone; timestamp_ntz would be, if Spark handed it over,
  which Spark 4.2 does not

A leaf of these types is therefore read through an expression that changes nothing and that
Spark does not see through. All other columns, fields beside such a leaf too, keep
their filters, and what is not selected is not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from explorer.protocol.schema import DataType, PrimitiveType, StructType

if TYPE_CHECKING:
    from pyspark.sql import Column

_CONCEALED: Final = frozenset({"float", "double", "timestamp", "timestamp_ntz"})


def block_pushdown(column: Column, data_type: DataType) -> Column:
    """The same values, with every leaf whose filters must stay out of files behind an
    expression. Elements of arrays and maps are never pushed."""
    from pyspark.sql import functions as fn

    if not _has_concealed(data_type):
        return column
    if not isinstance(data_type, StructType):
        return fn.greatest(column, column)
    found = column
    for item in data_type.fields:
        if _has_concealed(item.data_type):
            inner = block_pushdown(column.getField(item.name), item.data_type)
            # unlike a struct that is rebuilt it keeps null structs, and Spark sees
            # through it to the fields beside
            found = found.withField(quoted(item.name), inner)
    return found


def quoted(name: str) -> str:
    """A column's name for Spark, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _has_concealed(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return any(_has_concealed(item.data_type) for item in data_type.fields)
    return isinstance(data_type, PrimitiveType) and data_type.name in _CONCEALED
