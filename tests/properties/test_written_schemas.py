"""Schemas of new tables, merged and overwritten ones, for any columns: which there are, what
stays of those that were there, and that a writer may commit them.

`tests.properties.amounts` says how to run more than the few examples of CI.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from uuid import UUID

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidArgumentError
from explorer.protocol.features.column_mapping import field_id, physical_name, validate_mapping
from explorer.protocol.features.type_widening import is_widening, type_changes
from explorer.protocol.schema import (
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_schema,
)
from explorer.protocol.schema_walk import walk_fields
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.protocol_rules import lacking_features
from explorer.writing.schema.new_table import build_new_table, build_table_of_rows
from explorer.writing.schema.schema_change import merge_schema, overwrite_schema
from tests.properties.amounts import EXAMPLES

_NAMES = ("a", "B", "c_d", "Ä", "x1")
_LEAVES = st.sampled_from(
    [
        *(PrimitiveType(name=name) for name in ("byte", "short", "integer", "long")),
        *(PrimitiveType(name=name) for name in ("float", "double", "string", "date")),
        PrimitiveType(name="variant"),
        DecimalType(precision=6, scale=2),
        DecimalType(precision=9, scale=3),
    ]
)
_IDS = st.sampled_from(("none", "name", "id"))


def _structs(kinds: st.SearchStrategy[DataType], most: int = 3) -> st.SearchStrategy[StructType]:
    field = st.builds(
        StructField,
        name=st.sampled_from(_NAMES).flatmap(lambda name: st.sampled_from((name, name.swapcase()))),
        data_type=kinds,
        nullable=st.booleans(),
        metadata=st.sampled_from(({}, {"comment": "ü"})),
    )
    fields = st.lists(field, min_size=1, max_size=most, unique_by=lambda item: item.name.lower())
    return st.builds(StructType, fields=fields.map(tuple))


_TYPES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        _structs(inner),
        st.builds(ArrayType, element_type=inner, contains_null=st.booleans()),
        st.builds(MapType, key_type=_LEAVES, value_type=inner, value_contains_null=st.booleans()),
    ),
    max_leaves=5,
)
_SCHEMAS = _structs(st.one_of(_TYPES, st.just(VOID)), most=4)


def _ids() -> Iterator[UUID]:
    return (UUID(int=number) for number in count(1))


def _table(schema: StructType, mode: str, *, widens: bool) -> ReadVersion:
    asked = {"delta.columnMapping.mode": mode, "delta.enableTypeWidening": widens}
    made = build_table_of_rows(schema, now_ms=1, properties=asked, ids=_ids().__next__)
    return ReadVersion(
        version=1, protocol=made.protocol, metadata=made.metadata, timestamp=1, domains={}
    )


def _leaves(schema: StructType) -> dict[tuple[str, ...], DataType]:
    """Every type in a schema, by its way in small letters."""
    found: dict[tuple[str, ...], DataType] = {}
    stack: list[tuple[tuple[str, ...], DataType]] = [((), schema)]
    while stack:
        way, kind = stack.pop()
        found[way] = kind
        match kind:
            case StructType(fields=fields):
                stack += [((*way, item.name.lower()), item.data_type) for item in fields]
            case ArrayType(element_type=element):
                stack.append(((*way, "[]"), element))
            case MapType(key_type=key, value_type=value):
                stack += [((*way, "{}"), key), ((*way, "{:}"), value)]
    return found


def _fields(schema: StructType) -> Mapping[tuple[str, ...], StructField]:
    return {place.names: place.field for place in walk_fields(schema)}


def _is_sound(base: ReadVersion, mode: str) -> None:
    """Ids are there and differ, and the protocol has what the columns need."""
    table = Described(protocol=base.protocol, metadata=base.metadata)
    assert table.mode == mode
    assert validate_mapping(table.schema, table.mode) == []
    assert lacking_features(table) == ()
    if mode != "none":
        highest = int(base.metadata.configuration["delta.columnMapping.maxColumnId"])
        assert max(field_id(item) for item in _fields(table.schema).values()) <= highest


@settings(max_examples=EXAMPLES, deadline=None)
@given(schema=_SCHEMAS, mode=_IDS, widens=st.booleans())
def test_a_new_table_has_the_columns_that_were_asked_for(schema, mode, widens):
    base = _table(schema, mode, widens=widens)
    _is_sound(base, mode)
    found = parse_schema(base.metadata.schema_string)
    assert _leaves(found).keys() == _leaves(schema).keys()
    assert [item.name for item in found.fields] == [item.name for item in schema.fields]
    assert all(item.nullable for item in _fields(found).values())
    assert merge_schema(base, schema) is None
    assert overwrite_schema(base, schema) is None
    try:
        described = build_new_table(schema, now_ms=1, properties={"delta.columnMapping.mode": mode})
    except InvalidArgumentError as error:  # the reference takes no NOT NULL inside of these
        if "in an array or a map" not in error.problem:
            raise
        return
    nulls = [item.nullable for item in _fields(schema).values()]
    assert [item.nullable for item in _fields(described.schema).values()] == nulls


@settings(max_examples=EXAMPLES, deadline=None)
@given(held=_SCHEMAS, incoming=_SCHEMAS, mode=_IDS, widens=st.booleans())
def test_a_merge_adds_what_comes_and_leaves_what_is_there(held, incoming, mode, widens):
    base = _table(held, mode, widens=widens)
    before = parse_schema(base.metadata.schema_string)
    try:
        change = merge_schema(base, incoming)
    except InvalidArgumentError as error:
        assume("its rows come as" not in error.problem)
        raise
    if change is None:
        assert _leaves(incoming).keys() <= _leaves(before).keys()
        return
    after = change.schema
    assert _leaves(after).keys() == _leaves(before).keys() | _leaves(incoming).keys()
    _is_sound(replace(base, protocol=change.protocol, metadata=change.metadata), mode)
    changed = {(*entry.path,) for entry in type_changes(after)}
    for names, field in _fields(before).items():
        now = _fields(after)[names]
        assert (now.name, now.nullable) == (field.name, field.nullable)
        assert physical_name(now, mode) == physical_name(field, mode)
        assert field_id(now) == field_id(field)
        kinds = (field.data_type, now.data_type)
        if isinstance(kinds[0], PrimitiveType | DecimalType) and kinds[0] not in (kinds[1], VOID):
            assert widens
            assert is_widening(*kinds)
            assert names in changed
    for struct in (item for item in _leaves(before).items() if isinstance(item[1], StructType)):
        now = _leaves(after)[struct[0]]
        assert now.names[: len(struct[1].names)] == struct[1].names
    again = replace(base, protocol=change.protocol, metadata=change.metadata)
    assert merge_schema(again, incoming) is None


@settings(max_examples=EXAMPLES, deadline=None)
@given(held=_SCHEMAS, incoming=_SCHEMAS, mode=_IDS, widens=st.booleans())
def test_an_overwrite_has_the_columns_that_come_and_no_id_of_another(held, incoming, mode, widens):
    base = _table(held, mode, widens=widens)
    before = _fields(parse_schema(base.metadata.schema_string))
    change = overwrite_schema(base, incoming)
    if change is None:
        assert _leaves(incoming).keys() == _leaves(held).keys()
        return
    after = change.schema
    assert _leaves(after).keys() == _leaves(incoming).keys()
    _is_sound(replace(base, protocol=change.protocol, metadata=change.metadata), mode)
    assert type_changes(after) == ()
    by_id = {field_id(item): (names, item) for names, item in before.items()}
    for names, field in _fields(after).items():
        if mode != "none" and field_id(field) in by_id:
            known, other = by_id[field_id(field)]
            assert [step.lower() for step in known] == [step.lower() for step in names]
            assert physical_name(field, mode) == physical_name(other, mode)
    again = replace(base, protocol=change.protocol, metadata=change.metadata)
    assert overwrite_schema(again, incoming) is None
