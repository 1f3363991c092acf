"""Which column of one schema is which of another (spec: Column Mapping).

Where the table maps columns in both versions, the id tells, so that a rename is one.
Elsewhere the physical name does, which is the name itself without mapping; names alone only
where both versions go by them, where mapping was dropped, and where no column kept its name in
files, because the table was replaced. Fields are matched within the struct that encloses them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from explorer.protocol.actions import FieldPath, Metadata
from explorer.protocol.actions import Protocol as ProtocolAction
from explorer.protocol.features.column_mapping import column_mapping_mode, field_id, physical_name
from explorer.protocol.schema import ArrayType, DataType, MapType, StructField, StructType

_Identity: TypeAlias = Callable[[StructField], Hashable]
_Rules: TypeAlias = tuple[tuple[_Identity, _Identity], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedField:
    """One field in both schemas, or in one of them; the other side is None then.

    `is_moved` says that it stands elsewhere among the fields that its struct kept.
    """

    before: StructField | None
    after: StructField | None
    path_before: FieldPath
    path_after: FieldPath
    is_moved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedType:
    """What stands in one place of both schemas: the type of a field, an element, a key
    or a value, and whether it may be null (None where a field says so itself)."""

    before: DataType
    after: DataType
    path_before: FieldPath
    path_after: FieldPath
    null_before: bool | None = None
    null_after: bool | None = None


Match: TypeAlias = MatchedField | MatchedType


class Described(Protocol):
    """What says how a version's columns are called: a snapshot, or less."""

    @property
    def protocol(self) -> ProtocolAction:
        """The protocol in force."""
        ...

    @property
    def metadata(self) -> Metadata:
        """The metadata in force."""
        ...

    @property
    def schema(self) -> StructType:
        """The schema that the metadata holds."""
        ...


def match_schemas(
    older: Described, newer: Described, *, in_one_commit: bool = False
) -> Iterator[Match]:
    """Every field of both schemas followed by its type and what is inside, in the order of
    the newer one; what was dropped comes last of its struct.

    `in_one_commit` says that the newer one follows the older one at once, so that no column was
    dropped and added again under its name since mapping was switched on.
    """
    rules = _rules(older, newer, in_one_commit=in_one_commit)
    return _structs(older.schema, newer.schema, (), (), rules)


def _rules(older: Described, newer: Described, *, in_one_commit: bool) -> _Rules:
    """By what fields are known again, the surest first."""
    modes = [
        column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
        for snapshot in (older, newer)
    ]
    stored: tuple[_Identity, _Identity] = (
        lambda field: physical_name(field, modes[0]),
        lambda field: physical_name(field, modes[1]),
    )
    if older.metadata.id != newer.metadata.id:
        # ids of two tables only look alike; a clone keeps the names in its files
        return stored, (_name, _name), (_name_in_lower_case, _name_in_lower_case)
    if "none" not in modes:
        return (field_id, field_id), stored
    names = (_name_in_lower_case, _name_in_lower_case)
    if modes[0] != "none" and modes[1] == "none":
        # whoever drops mapping rewrites every file under the names that columns have then
        return (names,) if in_one_commit else (names, stored)
    is_switched_on = modes[0] == "none" and modes[1] != "none" and not in_one_commit
    if is_switched_on and _pairs(older.schema.fields, newer.schema.fields, (stored,)):
        return (stored,)  # under an old name, and another one in files, a column is a new one
    return stored, names


def _name(field: StructField) -> Hashable:
    return field.name


def _name_in_lower_case(field: StructField) -> Hashable:
    return field.name.lower()


def _structs(
    before: StructType, after: StructType, above: FieldPath, below: FieldPath, rules: _Rules
) -> Iterator[Match]:
    pairs = _pairs(before.fields, after.fields, rules)
    partner = {new: old for old, new in pairs}
    stayed = _in_order([partner[new] for new in sorted(partner)])
    for at, field in enumerate(after.fields):
        there = (*below, field.name)
        if (old := partner.get(at)) is None:
            yield MatchedField(before=None, after=field, path_before=(), path_after=there)
            continue
        former = before.fields[old]
        here = (*above, former.name)
        yield MatchedField(
            before=former,
            after=field,
            path_before=here,
            path_after=there,
            is_moved=old not in stayed,
        )
        yield from _types(former.data_type, field.data_type, here, there, rules)
    kept = set(partner.values())
    for at, field in enumerate(before.fields):
        if at not in kept:
            here = (*above, field.name)
            yield MatchedField(before=field, after=None, path_before=here, path_after=())


def _types(
    before: DataType, after: DataType, above: FieldPath, below: FieldPath, rules: _Rules
) -> Iterator[Match]:
    stack: list[MatchedType] = [
        MatchedType(before=before, after=after, path_before=above, path_after=below)
    ]
    while stack:
        found = stack.pop()
        yield found
        if isinstance(found.before, StructType) and isinstance(found.after, StructType):
            yield from _structs(
                found.before, found.after, found.path_before, found.path_after, rules
            )
        else:
            stack.extend(reversed(_inside(found)))


def _inside(found: MatchedType) -> list[MatchedType]:
    """Elements, keys and values, where both types have them."""
    match found.before, found.after:
        case ArrayType() as old, ArrayType() as new:
            nulls = (old.contains_null, new.contains_null)
            return [_way(found, "element", old.element_type, new.element_type, nulls)]
        case MapType() as old, MapType() as new:
            nulls = (old.value_contains_null, new.value_contains_null)
            return [
                _way(found, "key", old.key_type, new.key_type, (None, None)),
                _way(found, "value", old.value_type, new.value_type, nulls),
            ]
        case _:
            return []


def _way(
    found: MatchedType,
    way: str,
    before: DataType,
    after: DataType,
    nulls: tuple[bool | None, bool | None],
) -> MatchedType:
    return MatchedType(
        before=before,
        after=after,
        path_before=(*found.path_before, way),
        path_after=(*found.path_after, way),
        null_before=nulls[0],
        null_after=nulls[1],
    )


def _pairs(
    before: tuple[StructField, ...], after: tuple[StructField, ...], rules: _Rules
) -> list[tuple[int, int]]:
    """Positions that belong together; what a rule does not tell apart is left to the next."""
    left, right = dict(enumerate(before)), dict(enumerate(after))
    pairs: list[tuple[int, int]] = []
    for of_before, of_after in rules:
        known = _unique(left, of_before)
        for name, new in _unique(right, of_after).items():
            if name is not None and (old := known.get(name)) is not None:
                pairs.append((old, new))
                del left[old], right[new]
    return pairs


def _unique(fields: dict[int, StructField], identity: _Identity) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    doubles: set[Hashable] = set()
    for at, field in fields.items():
        name = identity(field)
        if name in found:
            doubles.add(name)
        found[name] = at
    return {name: at for name, at in found.items() if name not in doubles}


def _in_order(positions: list[int]) -> set[int]:
    """A longest ascending run of `positions`, others left out: what did not move."""
    tails: list[int] = []  # by length, the least last position of such a run
    lengths: list[int] = []
    for position in positions:
        at = bisect_left(tails, position)
        tails[at : at + 1] = [position]
        lengths.append(at + 1)
    kept: set[int] = set()
    wanted = len(tails)
    for position, length in zip(reversed(positions), reversed(lengths), strict=True):
        if length == wanted:
            kept.add(position)
            wanted -= 1
    return kept
