"""The rules of a table as conditions of Spark, each true for a row that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from explorer.pipeline.native.pushdown import quoted
from explorer.rows.row_checks import ValueCheck
from explorer.writing.gate.plan import GatePlan, RowRule
from explorer.writing.gate.refusals import (
    Refusal,
    not_as_generated,
    not_null,
    not_true,
    too_long,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

_Asked = Callable[["Column"], "Column"]
"""Whether a value breaks a rule."""


def broken_rules(plan: GatePlan) -> Iterator[tuple[Column | str, Refusal]]:
    """Every rule over the table's columns, some as text of SQL; null is as good as false."""
    from pyspark.sql import functions as fn

    for name, check in plan.values.columns:
        yield from _of_column(quoted(name), check)
        if check.inner:
            column = fn.col(quoted(name))
            for asked, refusal in _inside(check):
                yield asked(column), refusal
    for rule in plan.row_rules:
        yield _of_row(rule), not_as_generated(rule) if rule.kind == "generated" else not_true(rule)


def _of_column(column: str, check: ValueCheck) -> Iterator[tuple[str, Refusal]]:
    """The rules of a column itself. As text they are taken by Spark all at once, where each
    operation on a `Column` takes a call that lasts as long as a hundred columns of text."""
    if check.not_null:
        yield f"{column} IS NULL", not_null(check.path)
    if check.characters is not None:
        length, text = check.characters.length, check.characters.text
        yield f"length({column}) > {length}", too_long(check.path, text)


def _of_row(rule: RowRule) -> Column:
    from pyspark.sql import functions as fn

    said = fn.expr(rule.expression.text)
    if rule.kind == "generated":
        assert rule.column is not None
        return ~fn.col(quoted(rule.column)).eqNullSafe(said)
    return ~fn.coalesce(said, fn.lit(False))  # noqa: FBT003  # a value


def _of_value(check: ValueCheck) -> Iterator[tuple[_Asked, Refusal]]:
    from pyspark.sql import functions as fn

    if check.not_null:
        yield lambda value: value.isNull(), not_null(check.path)
    if check.characters is not None:
        length, text = check.characters.length, check.characters.text
        yield lambda value: fn.length(value) > fn.lit(length), too_long(check.path, text)
    yield from _inside(check)


def _inside(check: ValueCheck) -> Iterator[tuple[_Asked, Refusal]]:
    from pyspark.sql import functions as fn

    for name, inner in check.fields:
        for asked, refusal in _of_value(inner):
            yield _in_field(name, asked), refusal
    for inside, entries in (
        (check.element, lambda value: value),
        (check.key, fn.map_keys),
        (check.value, fn.map_values),
    ):
        for asked, refusal in () if inside is None else _of_value(inside):
            yield _in_any(entries, asked), refusal


def _in_field(name: str, asked: _Asked) -> _Asked:
    # under a null struct nothing is asked
    return lambda value: value.isNotNull() & asked(value.getField(name))


def _in_any(entries: _Asked, asked: _Asked) -> _Asked:
    from pyspark.sql import functions as fn

    def inside(value: Column) -> Column:
        return fn.exists(entries(value), lambda item: fn.coalesce(asked(item), fn.lit(False)))  # noqa: FBT003  # a value

    return inside
