"""How the type of a column may change (spec: Type Widening)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TypeAlias

from explorer.comparison.matched_fields import MatchedType, match_schemas
from explorer.errors import Problem
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.type_widening import TypeChange, is_widening, type_changes
from explorer.protocol.schema import (
    VOID,
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path
from explorer.protocol.table_properties.known_properties import TYPE_WIDENING
from explorer.transaction.rules.change import Described, Problems, problem

_WIDENING = ("typeWidening", "typeWidening-preview")

_Step: TypeAlias = tuple[DataType | None, DataType | None]


def type_rule(before: Described, after: Described) -> Callable[[MatchedType], Problems]:
    """The rule for what stands in one place of both schemas: a type stays or is widened, whoever
    widens it records each step of the way, and what was recorded before stays so."""
    held, told = _by_path(before.schema), _by_path(after.schema)
    # what is recorded keeps the feature active, but only the property lets types be widened
    widens = _is_supported(after) and TYPE_WIDENING.value_of(after.metadata.configuration)
    keeps = _is_supported(before)

    def validate(match: MatchedType) -> Problems:
        if not _may_become(match.before, match.after):
            yield _other_type(match)
            return
        known, steps = _steps(held[match.path_before]), _steps(told[match.path_after])
        new = steps[len(known) :]
        if _is_widened(match):
            way = [match.before, *(to for _, to in new)]
            if not widens or way != [*(source for source, _ in new), match.after]:
                yield _unrecorded(match)
                return
        if keeps and steps[: len(known)] != known:
            yield _forgotten(match)

    return validate


def newly_recorded_changes(before: Described | None, after: Described) -> list[TypeChange]:
    """Changes of types that the schema records, and did not record in that place before."""
    known: dict[FieldPath, list[_Step]] = {}
    if before is not None:
        held = _by_path(before.schema)
        known = {
            match.path_after: _steps(held[match.path_before])
            for match in match_schemas(before, after, in_one_commit=True)
            if isinstance(match, MatchedType)
        }
    return [
        change
        for change in type_changes(after.schema)
        if (change.from_type, change.to_type) not in known.get(change.path, ())
    ]


def _is_supported(table: Described) -> bool:
    return any(table.supports(name) for name in _WIDENING)


def _steps(changes: list[TypeChange]) -> list[_Step]:
    return [(change.from_type, change.to_type) for change in changes]


def _by_path(schema: StructType) -> defaultdict[FieldPath, list[TypeChange]]:
    found: defaultdict[FieldPath, list[TypeChange]] = defaultdict(list)
    for change in type_changes(schema):
        found[change.path].append(change)
    return found


def _is_widened(match: MatchedType) -> bool:
    simple = isinstance(match.after, PrimitiveType | DecimalType)
    return simple and match.before not in (match.after, VOID)


def _may_become(before: DataType, after: DataType) -> bool:
    simple = (PrimitiveType, DecimalType)
    if isinstance(before, simple) and isinstance(after, simple):
        return before == after or is_widening(before, after)
    return type(before) is type(after) or before == VOID


def _other_type(match: MatchedType) -> Problem:
    names = [render_type(kind)[:60] for kind in (match.before, match.after)]
    return problem(
        f"`{render_path(match.path_after)[:120]}` cannot go from {names[0]} to {names[1]}.",
        "Files that were written before hold the old type, and nothing converts them.",
        spec="Type Widening",
        remedy="Add a column of the new type instead.",
    )


def _unrecorded(match: MatchedType) -> Problem:
    return problem(
        f"The type of `{render_path(match.path_after)[:120]}` changes without being recorded.",
        "Readers convert old files by what `delta.typeChanges` says.",
        spec="Type Widening",
        remedy="Record the change, in a table with type widening supported and switched on.",
    )


def _forgotten(match: MatchedType) -> Problem:
    return problem(
        f"The commit takes back what is recorded of changes to the type of "
        f"`{render_path(match.path_after)[:120]}`.",
        "Files that were written before those changes hold a former type, and readers convert "
        "them by what `delta.typeChanges` says.",
        spec="Type Widening",
        remedy="Keep the record, or rewrite every file.",
    )
