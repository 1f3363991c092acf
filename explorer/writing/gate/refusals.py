"""Errors of rows that a table does not take: `schema_mismatch` where no row could be written,
`rows_refused` where one breaks a rule.

Both name the column by its path in the table. A refused row is shown by its values, each cut to
some 60 characters with control characters escaped: rows may be long, and hostile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from explorer.errors import InvalidArgumentError, brief
from explorer.protocol.character_types import Way
from explorer.protocol.schema import DataType, render_type
from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.writing.gate.plan import RowRule, TableExpression

_SHOWN_COLUMNS: Final = 8
_CUT: Final = 200


class WrittenValue(str):
    """A value that somebody else has written as text, such as `1.5` or `{1, a}`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A rule that a row breaks: the `column` by its path, or the name of a CHECK constraint; the
    `rule` in words of SQL; why it is broken; what can be done; the section of the specification;
    and the columns of the table that the rule is `about`."""

    column: str
    rule: str
    reason: str
    remedy: str
    spec: str | None
    about: tuple[str, ...] = ()

    def error(self, row: Mapping[str, Any]) -> InvalidArgumentError:
        """The error of kind `rows_refused` for the row with these values, those of the columns
        that the rule speaks of first."""
        return InvalidArgumentError(
            f"A row breaks {self.rule[:_CUT]} of `{self.column[:_CUT]}`.",
            reason=f"{self.reason} The row has {render_row(self._in_order(row))}.",
            remedy=self.remedy,
            kind="rows_refused",
            spec=self.spec,
        )

    def _in_order(self, row: Mapping[str, Any]) -> dict[str, Any]:
        said = {name.lower() for name in self.about}
        return dict(sorted(row.items(), key=lambda item: item[0].lower() not in said))


def render_row(row: Mapping[str, Any]) -> str:
    """Some values of a row, as `id = 5, name = 'x'`."""
    first = list(row.items())[:_SHOWN_COLUMNS]
    shown = [f"{_shown_name(name)} = {_shown(value)}" for name, value in first]
    return ", ".join([*shown, *(["..."] if len(row) > len(shown) else [])])


def _shown_name(name: str) -> str:
    return repr(render_path((name[:60],)))[1:-1]


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, WrittenValue):
        return brief(str(value))[1:-1]
    return str(value) if isinstance(value, _PLAIN) else brief(value)


_PLAIN: Final = (date, Decimal, Day, Moment)


def mismatch(problem: str, reason: str, remedy: str) -> InvalidArgumentError:
    """The error of kind `schema_mismatch`, for columns that cannot become those of the table."""
    return InvalidArgumentError(
        problem,
        reason=reason,
        remedy=remedy,
        kind="schema_mismatch",
        spec="Schema Serialization Format",
    )


def not_null(path: Way) -> Refusal:
    """A null where the schema has none."""
    return Refusal(
        column=render_path(path),
        about=path[:1],
        rule="NOT NULL",
        reason="The value is null, and the schema says that it never is.",
        remedy="Give a value, or leave the row out.",
        spec="Schema Serialization Format",
    )


def too_long(path: Way, kind: str) -> Refusal:
    """A text longer than its `char(n)` or `varchar(n)`."""
    return Refusal(
        column=render_path(path),
        about=path[:1],
        rule=kind,
        reason="The text has more characters; spaces at its end count too.",
        remedy="Shorten the text.",
        spec="Column Metadata",
    )


def not_stored(path: Way, source: DataType, target: DataType, why: str) -> Refusal:
    """A value that the type of its column does not hold."""
    return Refusal(
        column=render_path(path),
        about=path[:1],
        rule=f"the type {render_type(target)[:120]}",
        reason=f"A value of type {render_type(source)[:120]} {why}.",
        remedy="Correct the value, or cast the column before it is written.",
        spec="Schema Serialization Format",
    )


def not_true(rule: RowRule) -> Refusal:
    """A CHECK constraint, an invariant or a condition of the statement that is false or null."""
    written = rule.expression.written
    named = {"check": f"CHECK ({written})", "invariant": f"the invariant {written}"}
    sections = {"check": "CHECK Constraints", "invariant": "Column Invariants"}
    return Refusal(
        column=rule.name,
        about=rule.expression.columns,
        rule=named.get(rule.kind, f"the condition {written}"),
        reason="It is false, or null, which breaks it too.",
        remedy="Correct the row, or leave it out.",
        spec=sections.get(rule.kind),
    )


def not_as_generated(rule: RowRule) -> Refusal:
    """A given value of a generated column that is not what its expression says."""
    return Refusal(
        column=rule.name,
        about=(rule.column or "", *rule.expression.columns),
        rule=f"the generation {rule.expression.written}",
        reason="The column is generated, and another value was given.",
        remedy="Leave the column out: it is computed.",
        spec="Generated Columns",
    )


def not_computed(column: str, expression: TableExpression, why: str) -> Refusal:
    """A row for which an expression of the table has no value."""
    return Refusal(
        column=render_path((column,)),
        about=expression.columns,
        rule=f"the expression {expression.written}",
        reason=f"It has no value: {why}.",
        remedy="Correct the row, or leave it out.",
        spec="Generated Columns",
    )


def no_numbers(column: str) -> Refusal:
    """An identity column without numbers left for a row."""
    return Refusal(
        column=render_path((column,)),
        rule="the 64 bits",
        reason="The next number of the identity column is beyond them.",
        remedy="Write into a table whose identity column counts in smaller steps.",
        spec="Identity Columns",
    )
