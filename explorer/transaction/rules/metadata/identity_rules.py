"""Columns that are filled with numbers of their own (spec: Identity Columns)."""

from __future__ import annotations

from collections.abc import Callable

from explorer.comparison.matched_fields import MatchedField, match_schemas
from explorer.protocol.features.column_rules import IDENTITY_KEYS, identity_column
from explorer.protocol.schema import LONG, StructField
from explorer.protocol.schema_walk import render_path, walk_fields
from explorer.transaction.rules.change import REPORT, Change, Described, Problems, problem, shown


def validate_identity(change: Change) -> Problems:
    """New ones can count, and those that are there go on counting as they did."""
    if still := _begun(change, _stands_still):
        yield problem(
            f"{shown(still)} would have a step of 0.",
            "Every row would get the same number.",
            spec="Identity Columns",
            remedy="Count in another step, upwards or downwards.",
        )
    if short := _begun(change, _is_no_long):
        yield problem(
            f"{shown(short)} would be filled with numbers, and is not a column of longs.",
            "Start, step and the last number given out are longs, and so are the numbers.",
            spec="Identity Columns",
            remedy="Make it a column of type long.",
        )
    if change.before is None:
        return
    for match in match_schemas(change.before, change.after, in_one_commit=True):
        if isinstance(match, MatchedField) and match.before and match.after:
            yield from _identity(match.before, match.after, render_path(match.path_after))


def _begun(change: Change, is_wrong: Callable[[StructField], bool]) -> list[str]:
    """Columns that a rule is new for; one that comes back is as it was."""
    if change.staged.promises.recommits:
        return []
    before = set() if change.before is None else _wrong(change.before, is_wrong)
    return sorted(_wrong(change.after, is_wrong) - before)


def _wrong(table: Described, is_wrong: Callable[[StructField], bool]) -> set[str]:
    return {place.path for place in walk_fields(table.schema) if is_wrong(place.field)}


def _stands_still(field: StructField) -> bool:
    return identity_column(field).step == 0


def _is_no_long(field: StructField) -> bool:
    counts = any(key.startswith(IDENTITY_KEYS) for key in field.metadata)
    return counts and field.data_type != LONG


def _identity(old: StructField, new: StructField, path: str) -> Problems:
    before, after = identity_column(old), identity_column(new)
    if before.step is None:
        return
    step, mark = before.step, before.high_water_mark
    fixed = (before.start, step, before.allow_explicit_insert)
    if after.step is not None and fixed != (after.start, after.step, after.allow_explicit_insert):
        yield problem(
            f"The commit changes how the numbers of `{path[:120]}` are made.",
            "Start, step and whether values may be given stay as the column was created.",
            spec="Identity Columns",
            remedy="Add another identity column instead.",
        )
    went = after.high_water_mark
    back = mark is not None and (went is None or (went - mark) * step < 0)
    if back and after.step is not None:
        yield problem(
            f"The last number given out for `{path[:120]}` goes back from {mark} to {went}.",
            "Numbers would be given out twice.",
            spec="Identity Columns",
            remedy=REPORT,
        )
