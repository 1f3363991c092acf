"""How columns are found in files that were written before (spec: Column Mapping, and
Consistency Between Table Metadata and Data Files)."""

from __future__ import annotations

from collections.abc import Callable

from explorer.comparison.matched_fields import MatchedField, match_schemas
from explorer.errors import Problem
from explorer.protocol.features.column_ids import highest_column_id
from explorer.protocol.features.column_mapping import field_id, validate_mapping
from explorer.protocol.schema import StructField, StructType
from explorer.protocol.schema_walk import render_path, walk_fields
from explorer.protocol.table_properties.known_properties import COLUMN_MAPPING_MAX_ID
from explorer.transaction.rules.change import REPORT, Change, Described, Problems, problem

_WRITERS = "Writer Requirements for Column Mapping"
_CONSISTENCY = "Consistency Between Table Metadata and Data Files"
_MAP_FIRST = "Map the columns first: upgrade columnMapping."


def validate_mapping_change(change: Change) -> Problems:
    """Modes, names and ids of columns."""
    after, before = change.after, change.before
    yield from validate_mapping(after.schema, after.mode)
    mode_before = "none" if before is None else before.mode
    allowed = (
        change.creates
        or after.mode == mode_before
        or (mode_before, after.mode) == ("none", "name")
        or change.removes_every_live_file
        or change.is_restore
    )
    if not allowed:
        yield problem(
            f"Column mapping cannot go from {mode_before} to {after.mode}.",
            "The data files name their columns by the old mode, or have no ids.",
            spec=_WRITERS,
            remedy="Only from none to name can a table change without being rewritten.",
        )
    if after.mode == "none":
        return
    highest = COLUMN_MAPPING_MAX_ID.value_of(after.metadata.configuration)
    least = 0
    if before is not None:
        least = COLUMN_MAPPING_MAX_ID.value_of(before.metadata.configuration)
    least = max(least, highest_column_id(after.schema))
    if highest < least:
        yield problem(
            f"`{COLUMN_MAPPING_MAX_ID.name}` is {highest}, below an id that was given out.",
            f"It must be {least} or more, so that no id is given out twice.",
            spec=_WRITERS,
            remedy=REPORT,
        )


def validate_mapping_that_wakes(change: Change, before: Described) -> Problems:
    """A mode that stands in the metadata already and counts from this commit's protocol on:
    the files that are there go by the names that their columns had."""
    after = change.after
    if before.mode == after.mode:
        return
    yield from validate_mapping_change(change)
    if change.removes_every_live_file or change.is_restore:
        return
    validate_name = name_rule(before, after)
    for match in match_schemas(before, after, in_one_commit=True):
        if isinstance(match, MatchedField):
            yield from validate_name(match)


def name_rule(before: Described, after: Described) -> Callable[[MatchedField], Problems]:
    """The rule for one field over the files that are there: what finds its values in them
    stays, and what finds the values of another is never given to it."""
    given_out = _highest_given_out(before)
    is_mapped = "none" not in (before.mode, after.mode)

    def validate(match: MatchedField) -> Problems:
        old, new, path = match.before, match.after, render_path(match.path_after)[:120]
        if new is None:
            if after.mode == "none":
                yield _dropped(render_path(match.path_before)[:120])
        elif old is not None:
            if before.physical_name(old) != after.physical_name(new):
                yield _renamed(path) if after.mode == "none" else _other_name(path)
            elif is_mapped and _is_other_id(old, new):
                yield _other_id(path, field_id(old), field_id(new))
        elif is_mapped:
            yield from _taken_ids(match, new, given_out)

    return validate


def validate_ids_given_out(before: Described, after: Described) -> Problems:
    """The ids of columns where no file stays: a column keeps its own, and with it its name in
    files, or gets one that none had. Older versions and the change feed still lead to files
    that hold the others."""
    if "none" in (before.mode, after.mode):
        return
    given_out = _highest_given_out(before)
    kept: set[int | None] = set()
    for match in match_schemas(before, after, in_one_commit=True):
        if not isinstance(match, MatchedField) or match.before is None or match.after is None:
            continue
        if field_id(match.before) == field_id(match.after):
            kept.add(field_id(match.after))
            if before.physical_name(match.before) != after.physical_name(match.after):
                yield _other_name(render_path(match.path_after)[:120])
    for place in walk_fields(after.schema):
        number = field_id(place.field)
        if number is not None and number <= given_out and number not in kept:
            yield _taken_id(place.path[:120], number, given_out)


def _is_other_id(old: StructField, new: StructField) -> bool:
    # a field without one has no id to keep
    return field_id(old) is not None and field_id(old) != field_id(new)


def _highest_given_out(table: Described) -> int:
    """Of ids, those of columns that were dropped included."""
    return max(
        COLUMN_MAPPING_MAX_ID.value_of(table.metadata.configuration),
        highest_column_id(table.schema),
    )


def _dropped(path: str) -> Problem:
    return problem(
        f"The commit drops `{path}`, and the table maps no columns.",
        "Files that were written before still hold it, and a later column of that name would "
        "get its values.",
        spec=_CONSISTENCY,
        remedy=_MAP_FIRST,
    )


def _renamed(path: str) -> Problem:
    return problem(
        f"The commit renames a column to `{path}`, and the table maps no columns.",
        "Files that were written before hold it under its former name.",
        spec=_CONSISTENCY,
        remedy=_MAP_FIRST,
    )


def _other_name(path: str) -> Problem:
    return problem(
        f"The commit changes the physical name of `{path}`.",
        "Files that were written before would lose the column.",
        spec=_WRITERS,
        remedy=REPORT,
    )


def _other_id(path: str, old: int | None, new: int | None) -> Problem:
    return problem(
        f"The commit changes the id of `{path}` from {old} to {new}.",
        "Files that were written before hold the column under its former id.",
        spec=_WRITERS,
        remedy=REPORT,
    )


def _taken_ids(match: MatchedField, new: StructField, given_out: int) -> Problems:
    """Of a new field and of those inside it."""
    above = match.path_after[:-1]
    for place in walk_fields(StructType(fields=(new,))):
        number = field_id(place.field)
        if number is None or number > given_out:
            continue
        yield _taken_id(render_path((*above, *place.names))[:120], number, given_out)


def _taken_id(path: str, number: int, given_out: int) -> Problem:
    return problem(
        f"`{path}` is new and has the id {number}; ids up to {given_out} were given out before.",
        "It would get the values of a column that was dropped, from files that still hold them.",
        spec=_WRITERS,
        remedy=REPORT,
    )
