"""How the columns of a table may change over the files that are there (spec: Schema
Serialization Format, Column Mapping, Type Widening, Default Columns, Generated Columns, Identity
Columns), and of what types new ones may be (spec: Primitive Types)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from explorer.comparison.matched_fields import MatchedField, MatchedType, match_schemas
from explorer.errors import Problem
from explorer.protocol.actions import FieldPath
from explorer.protocol.character_types import CharacterType, character_types
from explorer.protocol.features.column_rules import DEFAULT_KEY, GENERATION_KEY, identity_column
from explorer.protocol.schema import (
    DataType,
    GeoType,
    PrimitiveType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path, walk_fields, walk_types
from explorer.transaction.rules.change import Change, Described, Problems, problem, shown
from explorer.transaction.rules.metadata.mapping_rules import name_rule, validate_ids_given_out
from explorer.transaction.rules.metadata.type_rules import type_rule
from explorer.transaction.rules.row_rules import not_null_rule

_FEATURES_OF_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "geometry": ("geospatial", "geospatial-dev"),
    "geography": ("geospatial", "geospatial-dev"),
    "timestamp_nanos": ("timestampNanos",),
    "timestamp_nanos_ntz": ("timestampNanos",),
    "interval year to month": (),
    "interval day to second": (),
}
"""Types that are in no list of the specification, by the features that bring them; none brings
intervals. What the listed types need, every feature says of itself."""


def validate_fields(change: Change, before: Described) -> Problems:
    """Columns that were there before: their types, nulls, lengths, names and ids in files, and
    what fills them."""
    if change.is_restore:
        return  # its files were written by this schema
    if change.removes_every_live_file:  # and only versions from before hold what was
        yield from validate_ids_given_out(before, change.after)
        return
    validate_name = name_rule(before, change.after)
    validate_type, validate_length = type_rule(before, change.after), _length_rule(before, change)
    for match in match_schemas(before, change.after, in_one_commit=True):
        if isinstance(match, MatchedField):
            yield from validate_name(match)
            yield from _matched_field(match, change)
            continue
        yield from validate_type(match)
        yield from validate_length(match)
        if match.null_before and match.null_after is False:
            yield _null_problem(render_path(match.path_after))


def _matched_field(match: MatchedField, change: Change) -> Problems:
    old, new = match.before, match.after
    if new is None:
        return
    path = render_path(match.path_after)
    if old is None and DEFAULT_KEY in new.metadata:
        yield problem(
            f"The commit adds `{path[:120]}` with a default.",
            "Rows that were written before would have to be told whether they get it.",
            spec="Default Columns",
            remedy="Add the column first, and set its default in a later commit.",
        )
    if not new.nullable and (old is None or old.nullable):
        found = not_null_rule(path) in change.staged.promises.validated
        # what is written meanwhile was not looked at
        if old is None or not (found and change.has_read_every_row):
            yield _null_problem(path)
    filled = _filled_by(new)
    if filled is not None and (old is None or _filled_by(old) != filled):
        yield problem(
            f"`{path[:120]}` is filled by {'a rule' if filled else 'numbers of its own'} from now "
            "on.",
            "Rows that were written before, or that come meanwhile, have other values there.",
            spec="Generated Columns" if filled else "Identity Columns",
            remedy="Rewrite every file with such values.",
        )


def _filled_by(item: StructField) -> str | None:
    """The expression of a generated column, nothing for numbers of an identity column, None
    where rows are written as they come."""
    if isinstance(text := item.metadata.get(GENERATION_KEY), str):
        return text
    return None if identity_column(item).step is None else ""


def _length_rule(before: Described, change: Change) -> Callable[[MatchedType], Problems]:
    """The rule for the length of text in one place over the files that are there."""
    old, new = _lengths(before.schema), _lengths(change.after.schema)

    def rule(match: MatchedType) -> Problems:
        least, most = new.get(match.path_after), old.get(match.path_before)
        if least is not None and (most is None or least.length < most.length):
            yield problem(
                f"`{render_path(match.path_after)[:120]}` is {least.text} from now on.",
                "Rows that were written before, or that come meanwhile, may have longer text "
                "there.",
                spec="Column Metadata",
                remedy="Add a constraint on its length instead, or rewrite every file.",
            )

    return rule


def _lengths(schema: StructType) -> dict[FieldPath, CharacterType]:
    """By the way to each value, how long text may be; metadata that cannot be read set none."""
    return {
        (*place.names, *way): found
        for place in walk_fields(schema)
        for way, found in (character_types(place.field) or {}).items()
    }


def _null_problem(path: str) -> Problem:
    return problem(
        f"`{path[:120]}` may no longer be null.",
        "Rows that were written before, or are written meanwhile, may have no value there.",
        spec="Schema Serialization Format",
        remedy="Add a constraint that says so instead (IS NOT NULL), or rewrite every file.",
    )


def validate_new_types(change: Change) -> Problems:
    """Columns that come are of types that the specification lists, or a feature brings."""
    if change.staged.promises.recommits:
        return  # they come back
    wrong = {
        (render_path(path), render_type(kind))
        for path, kind in _new_types(change)
        if not _is_brought(kind, change.after)
    }
    if wrong:
        named = [f"{path[:80]}: {kind[:40]}" for path, kind in sorted(wrong)]
        yield problem(
            f"The commit adds columns of types that the table cannot have: {shown(named)}.",
            "The specification does not list them, and no feature of the table brings them: "
            "nobody could be sure to read their values.",
            spec="Primitive Types",
            remedy="Keep such values as strings or numbers.",
        )


def _new_types(change: Change) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Types in places where there was none, or another one."""
    if change.before is None:
        for field in change.after.schema.fields:
            yield from (((field.name,), kind) for kind in walk_types(field.data_type))
        return
    for match in match_schemas(change.before, change.after, in_one_commit=True):
        if isinstance(match, MatchedField):
            if match.before is None and match.after is not None:
                yield from ((match.path_after, kind) for kind in walk_types(match.after.data_type))
        elif type(match.before) is not type(match.after) or _name(match.before) != _name(
            match.after
        ):
            yield from ((match.path_after, kind) for kind in walk_types(match.after))


def _is_brought(kind: DataType, table: Described) -> bool:
    features = _FEATURES_OF_TYPES.get(_name(kind))
    return features is None or any(table.supports(name) for name in features)


def _name(kind: DataType) -> str:
    return kind.name if isinstance(kind, PrimitiveType | GeoType) else ""
