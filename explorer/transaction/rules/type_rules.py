"""How the type of a column may change (spec: Type Widening)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from explorer.comparison.matched_fields import MatchedType, Path
from explorer.errors import Problem
from explorer.protocol.features.type_widening import TypeChange, is_widening, type_changes
from explorer.protocol.schema import (
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path
from explorer.transaction.rules.change import Described, Problems, problem

_VOID = PrimitiveType(name="void")


def type_rule(before: Described, after: Described) -> Callable[[MatchedType], Problems]:
    """The rule for what stands in one place of both schemas: a type stays or is widened, and
    whoever widens it records each step of the way."""
    held, told = _by_path(before.schema), _by_path(after.schema)
    widens = after.has_active("typeWidening")

    def validate(match: MatchedType) -> Problems:
        if not _may_become(match.before, match.after):
            yield _other_type(match)
        elif _is_widened(match):
            steps = told[match.path_after][len(held[match.path_before]) :]
            way = [match.before, *(step.to_type for step in steps)]
            if not widens or way != [*(step.from_type for step in steps), match.after]:
                yield _unrecorded(match)

    return validate


def _by_path(schema: StructType) -> defaultdict[Path, list[TypeChange]]:
    found: defaultdict[Path, list[TypeChange]] = defaultdict(list)
    for change in type_changes(schema):
        found[change.path].append(change)
    return found


def _is_widened(match: MatchedType) -> bool:
    simple = isinstance(match.after, PrimitiveType | DecimalType)
    return simple and match.before not in (match.after, _VOID)


def _may_become(before: DataType, after: DataType) -> bool:
    simple = (PrimitiveType, DecimalType)
    if isinstance(before, simple) and isinstance(after, simple):
        return before == after or is_widening(before, after)
    return type(before) is type(after) or before == _VOID


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
        remedy="Record the change, in a table that supports type widening.",
    )
