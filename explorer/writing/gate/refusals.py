"""Errors of rows that a table does not take: `schema_mismatch` where no row could be written,
`rows_refused` where one breaks a rule.

Both name the column by its path in the table. A refused row is shown by its values, each cut to
some 60 characters with control characters escaped: rows may be long, and hostile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from explorer.errors import InvalidArgumentError, brief

SHOWN_COLUMNS: Final = 8
"""So many columns of a refused row are shown."""

_CUT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A rule that a row breaks: the `column` by its path, or the name of a CHECK constraint; the
    `rule` in words of SQL; why it is broken; what can be done; and the section of the
    specification."""

    column: str
    rule: str
    reason: str
    remedy: str
    spec: str

    def error(self, row: Mapping[str, Any]) -> InvalidArgumentError:
        """The error of kind `rows_refused` for the row with these values."""
        return InvalidArgumentError(
            f"A row breaks {self.rule[:_CUT]} of `{self.column[:_CUT]}`.",
            reason=f"{self.reason} The row has {render_row(row)}.",
            remedy=self.remedy,
            kind="rows_refused",
            spec=self.spec,
        )


def render_row(row: Mapping[str, Any]) -> str:
    """Some values of a row, as `id = 5, name = 'x'`."""
    shown = [f"{name[:60]!r} = {brief(value)}" for name, value in list(row.items())[:SHOWN_COLUMNS]]
    more = len(row) - len(shown)
    return ", ".join(shown) + (f" and {more} more columns" if more > 0 else "")


def mismatch(problem: str, reason: str, remedy: str) -> InvalidArgumentError:
    """The error of kind `schema_mismatch`, for columns that cannot become those of the table."""
    return InvalidArgumentError(
        problem,
        reason=reason,
        remedy=remedy,
        kind="schema_mismatch",
        spec="Schema Serialization Format",
    )


def not_null(column: str) -> Refusal:
    """A null where the schema has none."""
    return Refusal(
        column=column,
        rule="NOT NULL",
        reason="The value is null, and the schema says that it never is.",
        remedy="Give a value, or leave the row out.",
        spec="Schema Serialization Format",
    )


def too_long(column: str, kind: str) -> Refusal:
    """A text longer than its `char(n)` or `varchar(n)`."""
    return Refusal(
        column=column,
        rule=kind,
        reason="The text has more characters, and more than spaces at its end.",
        remedy="Shorten the text.",
        spec="Column Metadata",
    )


def not_stored(column: str, source: str, target: str, why: str) -> Refusal:
    """A value that the type of its column does not hold."""
    return Refusal(
        column=column,
        rule=f"the type {target}",
        reason=f"A value of type {source} {why}.",
        remedy="Correct the value, or cast the column before it is written.",
        spec="Schema Serialization Format",
    )


def not_true(name: str, expression: str, *, is_check: bool) -> Refusal:
    """A CHECK constraint or an invariant that is false or null."""
    return Refusal(
        column=name,
        rule=f"the {'CHECK constraint' if is_check else 'invariant'} {expression}",
        reason="It is false, or null, which breaks it too.",
        remedy="Correct the row, or leave it out.",
        spec="CHECK Constraints" if is_check else "Column Invariants",
    )


def not_as_generated(column: str, expression: str) -> Refusal:
    """A given value of a generated column that is not what its expression says."""
    return Refusal(
        column=column,
        rule=f"the generation {expression}",
        reason="The column is generated, and another value was given.",
        remedy="Leave the column out: it is computed.",
        spec="Generated Columns",
    )


def not_computed(column: str, expression: str, why: str) -> Refusal:
    """A row for which an expression of the table has no value."""
    return Refusal(
        column=column,
        rule=f"the expression {expression}",
        reason=f"It has no value: {why}.",
        remedy="Correct the row, or leave it out.",
        spec="Generated Columns",
    )
