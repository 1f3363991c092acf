"""Columns built by way of buffers are what `pyarrow.array` makes of the same values,
and both rules for what fits, by row and by column, agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.log.actions.columns import (
    DELETION_VECTOR,
    STRING_MAP,
    TIME,
    batch_of,
    bool_column,
    deletion_vector_column,
    int32_column,
    int64_column,
    string_column,
    string_map_column,
    time_column,
)
from explorer.log.actions.fields import FIELDS, FieldKind, FileAction, misfit

_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
_LONG = st.integers(-(2**63), 2**63 - 1)
_INT = st.integers(-(2**31), 2**31 - 1)
_MAP = st.dictionaries(_TEXT, st.none() | _TEXT, max_size=3)
_VECTOR = st.fixed_dictionaries(
    {},
    optional={
        "storageType": _TEXT,
        "pathOrInlineDv": _TEXT,
        "offset": st.none() | _INT,
        "sizeInBytes": _INT,
        "cardinality": _LONG,
        "unknown": _TEXT,
    },
)
_LOG_NAMES = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")


def _pairs(value: Any) -> Any:
    return None if value is None else list(value.items())


def _renamed(value: Any) -> Any:
    if value is None:
        return None
    names = (field.name for field in DELETION_VECTOR)
    return {name: value.get(log) for name, log in zip(names, _LOG_NAMES, strict=True)}


_Case = tuple[Callable[[Any], pa.Array], pa.DataType, st.SearchStrategy[Any], Callable[[Any], Any]]


def _same(value: Any) -> Any:
    return value


_CASES: dict[str, _Case] = {
    "string": (string_column, pa.string(), _TEXT, _same),
    "int64": (int64_column, pa.int64(), _LONG, _same),
    "int32": (int32_column, pa.int32(), _INT, _same),
    "time": (time_column, TIME, _LONG, _same),
    "bool": (bool_column, pa.bool_(), st.booleans(), _same),
    "map": (string_map_column, STRING_MAP, _MAP, _pairs),
    "vector": (deletion_vector_column, DELETION_VECTOR, _VECTOR, _renamed),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", _CASES)
@given(data=st.data())
def test_column_equals_what_pyarrow_makes(kind: str, data: st.DataObject) -> None:
    build, data_type, one, as_arrow = _CASES[kind]
    values = data.draw(st.lists(st.none() | one, max_size=20))
    found = build(values)
    found.validate(full=True)
    assert found.type == data_type
    assert found.equals(pa.array([as_arrow(value) for value in values], data_type))
    assert found.null_count == values.count(None)


@pytest.mark.parametrize(
    ("build", "wrong"),
    [
        (string_column, [5, True, b"x", [], {}, 1.5]),
        (int64_column, ["5", True, 1.5, [], {}, 2**63, -(2**63) - 1]),
        (int32_column, ["5", True, 1.5, 2**31, -(2**31) - 1]),
        (time_column, ["5", True, 1.5, 2**63]),
        (bool_column, [0, 1, "true", [], 1.0]),
        (string_map_column, [5, "x", [], ["ab"], {"a": 5}, {"a": []}, True]),
        (
            deletion_vector_column,
            [5, "x", [], {"storageType": 5}, {"offset": "1"}, {"offset": 2**31}],
        ),
    ],
)
def test_value_of_another_type_is_refused(
    build: Callable[[Any], pa.Array], wrong: list[Any]
) -> None:
    for value in wrong:
        for values in ([value], [None, value]):
            with pytest.raises((TypeError, OverflowError)):
                build(values)


# every kind of value that JSON has, near each limit
_JSON = st.one_of(
    st.none(),
    st.booleans(),
    _TEXT,
    st.sampled_from([0, 1, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 1.5, 1e300]),
    st.lists(_TEXT | st.integers(), max_size=2),
    st.dictionaries(_TEXT, st.one_of(st.none(), _TEXT, st.integers()), max_size=2),
    st.fixed_dictionaries(
        {"storageType": st.sampled_from(["u", 5]), "pathOrInlineDv": _TEXT},
        optional={
            "offset": st.sampled_from([1, None, "1", True, 2**31]),
            "sizeInBytes": st.sampled_from([1, 1.5]),
            "cardinality": st.sampled_from([1, None, 2**63, False]),
        },
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["add", "remove"])
@given(data=st.data())
def test_rule_by_row_and_rule_by_column_agree(action: FileAction, data: st.DataObject) -> None:
    names = [log_name for log_name, _ in FIELDS[action].values()]
    body = data.draw(st.dictionaries(st.sampled_from(names), _JSON, max_size=4))
    # as it comes from a log: what JSON cannot say cannot be there
    body = json.loads(json.dumps(body))
    try:
        batch_of(action, [body, {}])
    except (TypeError, OverflowError):
        assert misfit(action, body) is not None
    else:
        assert misfit(action, body) is None


def test_misfit_names_the_field_and_what_it_should_be() -> None:
    assert misfit("add", {"path": "a", "size": "1"}) == ("add.size", "a 64-bit integer")
    assert misfit("remove", {"path": 5}) == ("remove.path", "a string")
    assert misfit("add", {"path": "a", "size": 1, "unknown": object()}) is None


def test_every_kind_of_field_has_a_column() -> None:
    kinds: set[FieldKind] = {kind for fields in FIELDS.values() for _, kind in fields.values()}
    assert kinds == {"string", "int64", "time", "bool", "string_map", "deletion_vector"}
