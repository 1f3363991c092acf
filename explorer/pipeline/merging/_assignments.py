"""The values of a merge's clauses, as columns of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

from explorer.pipeline.native.pushdown import quoted
from explorer.protocol.schema import StructType
from explorer.writing.merging.names import Names
from explorer.writing.merging.resolving import (
    Assignment,
    Expression,
    Fields,
    Kept,
    ResolvedClause,
    SourceColumn,
)

if TYPE_CHECKING:
    from pyspark.sql import Column


def value_columns(item: ResolvedClause, names: Names) -> Iterator[Column]:
    """What a clause gives to the gate of rows, each under the table's name."""
    for name, assigned in item.columns.items():
        yield _value(assigned, names, name).alias(name)


def target_column(names: Names, name: str) -> Column:
    """A column of the table."""
    from pyspark.sql import functions as fn

    return fn.col(f"{quoted(names.target_alias)}.{quoted(name)}")


def _value(assigned: Assignment, names: Names, name: str) -> Column:
    from pyspark.sql import functions as fn

    match assigned:
        case Expression(value=value):
            return fn.expr(value) if isinstance(value, str) else value
        case SourceColumn(name=given, path=path):
            found = fn.col(f"{quoted(names.source_alias)}.{quoted(given)}")
            return reduce(lambda outer, field: outer.getField(field), path, found)
        case Kept():
            return target_column(names, _known(names.target, name))
        case Fields():
            return _struct(assigned, names, target_column(names, _known(names.target, name)))


def _struct(assigned: Fields, names: Names, base: Column) -> Column:
    """A struct with some fields set; one that is null gets them too, and null for the others,
    unless the source's is null as well."""
    from pyspark.sql import functions as fn

    inner: list[Column] = []
    for name, item in assigned.fields.items():
        match item:
            case Kept():
                value = base.getField(name)
            case Fields():
                value = _struct(item, names, base.getField(name))
            case _:
                value = _value(item, names, name)
        inner.append(value.alias(name))
    made = fn.struct(*inner)
    if assigned.given is None:
        return made
    given = _value(assigned.given, names, "")
    return fn.when(given.isNotNull() | base.isNotNull(), made)


def _known(schema: StructType, name: str) -> str:
    return next(found for found in schema.names if found.lower() == name.lower())
