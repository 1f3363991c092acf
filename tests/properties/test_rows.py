"""Rows of invented tables against a model that works on plain Python values."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.protocol.vectors.deletion_vectors import build_inline_descriptor, render_descriptor
from explorer.rows.read import read_rows
from tests.data_tables import DataTable, array, field, map_of, struct
from tests.row_values import plain_value

# as a schema has it: a leaf's name, or (kind, inner)
_LEAVES = st.sampled_from(["byte", "integer", "long", "string", "double"])
_WIDER = {"byte": ["byte", "integer", "long", "double"], "integer": ["integer", "long", "double"]}
_ARROW = {
    "byte": pa.int8(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
}
_NAMES = st.sampled_from(["a", "b", "c", "a.b", "ü", "X"])


def _kinds() -> st.SearchStrategy[Any]:
    return st.recursive(
        _LEAVES,
        lambda inner: st.one_of(
            st.tuples(st.just("array"), inner),
            st.tuples(st.just("map"), inner),
            st.tuples(st.just("struct"), st.dictionaries(_NAMES, inner, min_size=1, max_size=3)),
        ),
        max_leaves=5,
    )


@st.composite
def _evolved(draw: Any, kind: Any) -> Any:
    """What the type of an old file may be in the table now."""
    if isinstance(kind, str):
        return draw(st.sampled_from(_WIDER.get(kind, [kind])))
    name, inner = kind
    if name != "struct":
        return name, draw(_evolved(inner))
    kept = {key: draw(_evolved(value)) for key, value in inner.items() if draw(st.booleans())}
    added = draw(st.dictionaries(_NAMES.filter(lambda key: key not in inner), _LEAVES, max_size=2))
    fields = draw(st.permutations(list({**kept, **added}.items())))
    return name, dict(fields) or {"fresh": "long"}


def _arrow(kind: Any) -> pa.DataType:
    match kind:
        case ("array", inner):
            return pa.list_(_arrow(inner))
        case ("map", inner):
            return pa.map_(pa.string(), _arrow(inner))
        case ("struct", fields):
            return pa.struct([(name, _arrow(inner)) for name, inner in fields.items()])
    return _ARROW[kind]


def _delta(kind: Any) -> Any:
    match kind:
        case ("array", inner):
            return array(_delta(inner))
        case ("map", inner):
            return map_of("string", _delta(inner))
        case ("struct", fields):
            return struct(*(field(name, _delta(inner)) for name, inner in fields.items()))
    return kind


def _values(kind: Any) -> st.SearchStrategy[Any]:
    some: st.SearchStrategy[Any]
    match kind:
        case ("array", inner):
            some = st.lists(_values(inner), max_size=3)
        case ("map", inner):
            some = st.dictionaries(st.text("xyz", max_size=2), _values(inner), max_size=3).map(
                lambda value: list(value.items())
            )
        case ("struct", fields):
            some = st.fixed_dictionaries({name: _values(inner) for name, inner in fields.items()})
        case "byte":
            some = st.integers(-128, 127)
        case "string":
            some = st.text(max_size=4)
        case "double":
            some = st.floats(allow_nan=False)
        case _:
            some = st.integers(-(2**31), 2**31 - 1)
    return st.none() | some


def _seen(value: Any, old: Any, new: Any) -> Any:
    """The model: a value of the old type as the new one shows it."""
    if value is None:
        return None
    match new:
        case ("array", inner):
            return [_seen(item, old[1], inner) for item in value]
        case ("map", inner):
            return [(key, _seen(item, old[1], inner)) for key, item in value]
        case ("struct", fields):
            return {
                name: _seen(value[name], old[1][name], inner) if name in old[1] else None
                for name, inner in fields.items()
            }
    return float(value) if new == "double" else value


@pytest.mark.rule("dv-read-regardless", "dv-rows-not-returned", "log-missing-columns")
@pytest.mark.rule("newer-widening-convert-old")
@given(st.data())
def test_old_files_show_what_the_new_schema_says_and_what_no_vector_hides(data: Any) -> None:
    old = ("struct", data.draw(st.dictionaries(_NAMES, _kinds(), min_size=1, max_size=3)))
    new = data.draw(_evolved(old))
    rows = data.draw(st.lists(_values(old).filter(lambda row: row is not None), max_size=8))
    hidden = data.draw(st.sets(st.integers(0, max(len(rows) - 1, 0)))) if rows else set()
    stored = pa.Table.from_pylist(rows, pa.schema(list(_arrow(old))))
    with tempfile.TemporaryDirectory() as folder:
        table = DataTable(Path(folder) / "t", _delta(new), features=("deletionVectors",))
        action = {"deletionVector": render_descriptor(build_inline_descriptor(hidden))}
        written = {"row_group_size": data.draw(st.integers(1, 4))}
        table.add("x.parquet", stored, written=written, **(action if hidden else {}))
        found = read_rows(explorer.open_table(table.write()).snapshot())
    wanted = [_seen(row, old, new) for at, row in enumerate(rows) if at not in hidden]
    assert [plain_value(row) for row in found.to_pylist()] == [plain_value(row) for row in wanted]
