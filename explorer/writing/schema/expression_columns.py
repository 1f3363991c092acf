"""Columns that expressions of the table speak of (spec: CHECK Constraints, Generated Columns)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.column_rules import GENERATION_KEY, INVARIANTS_KEY, parse_invariant
from explorer.protocol.schema import StructType
from explorer.protocol.schema_walk import walk_fields
from explorer.protocol.table_properties.properties import check_constraints
from explorer.transaction.rules.change import Described
from explorer.writing.schema.column_checks import columns_of_expression


def check_no_expression(table: Described, changed: Iterable[FieldPath], what: str) -> None:
    """Raise `InvalidArgumentError` where an expression of the table may speak of a column that
    changes, or of one around it. `what` would happen to the column, which `{}` stands for."""
    names = {path[0] for path in changed}
    if not names:
        return
    for kind, text in _expressions(table):
        if used := names & columns_spoken_of(text, table.schema):
            raise InvalidArgumentError(
                f"{what.format(min(used)[:120])}, and the {kind} {text[:120]!r} of the table may "
                "speak of it.",
                reason="Rows that are there met it with the column as it is.",
                remedy="Drop the constraint first."
                if kind == "constraint"
                else "Leave the column as it is: what fills a column stays for good.",
                spec="CHECK Constraints" if kind == "constraint" else "Generated Columns",
            )


def columns_spoken_of(
    text: str, schema: StructType, unread: frozenset[str] | None = None
) -> frozenset[str]:
    """The columns that an expression speaks of; `unread`, and every column without it, where
    it cannot be read here."""
    try:
        return columns_of_expression(text, schema)
    except DeltaError:
        return frozenset(schema.names) if unread is None else unread


def _expressions(table: Described) -> Iterator[tuple[str, str]]:
    for text in check_constraints(table.metadata.configuration).values():
        yield "constraint", text
    for place in walk_fields(table.schema):
        generated = place.field.metadata.get(GENERATION_KEY)
        if isinstance(generated, str):
            yield "generated column", generated
        invariant = place.field.metadata.get(INVARIANTS_KEY)
        if isinstance(invariant, str):
            yield "invariant", parse_invariant(invariant)
