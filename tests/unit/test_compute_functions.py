"""Each compute function is the one of `pyarrow.compute`, which it does without."""

from __future__ import annotations

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import explorer.compute_functions
from explorer.compute_functions import FUNCTIONS, make_function

NUMBERS = pa.chunked_array([[3, None, 1], [], [2, 3]], pa.int64())
FLAGS = pa.chunked_array([[True, False, None], [], [True, True]])
TEXTS = pa.array(["deltas/a", None, "b%20c", "", "deltas"])
ROWS = pa.array([{"a": 1, "b": {"c": "x"}}, None, {"a": None, "b": None}])
OTHERS = pa.chunked_array([[3, 2, 1, 0, None]], pa.int64())
MASK = pa.array([True, False, True, False, True])
TABLE = pa.table({"number": NUMBERS, "text": pa.chunked_array([TEXTS])})

CALLS = [
    ("all", (FLAGS,), {}),
    ("all", (FLAGS,), {"skip_nulls": False}),
    ("and_", (FLAGS, FLAGS), {}),
    ("any", (FLAGS,), {}),
    ("any", (FLAGS.slice(0, 0),), {"min_count": 0}),
    ("binary_join_element_wise", (TEXTS, TEXTS, "+"), {}),
    ("binary_join_element_wise", (TEXTS, TEXTS, "+"), {"null_handling": "skip"}),
    ("cast", (NUMBERS, pa.float64()), {}),
    ("cast", (NUMBERS, pa.bool_()), {"safe": False}),
    ("coalesce", (NUMBERS, OTHERS, 7), {}),
    ("equal", (NUMBERS, OTHERS), {}),
    ("filter", (NUMBERS, FLAGS), {}),
    ("filter", (TABLE, MASK), {}),
    ("filter", (NUMBERS, FLAGS, "emit_null"), {"memory_pool": pa.system_memory_pool()}),
    ("greater_equal", (NUMBERS, 2), {}),
    ("if_else", (FLAGS, NUMBERS, 9), {}),
    ("indices_nonzero", (FLAGS,), {}),
    ("invert", (FLAGS,), {}),
    ("is_in", (NUMBERS,), {"value_set": pa.array([3, None])}),
    ("is_in", (NUMBERS, pa.array([3, None])), {"skip_nulls": True}),
    ("is_null", (NUMBERS,), {}),
    ("is_null", (pa.array([float("nan"), None]),), {"nan_is_null": True}),
    ("is_valid", (NUMBERS,), {}),
    ("less", (NUMBERS, OTHERS), {}),
    ("less_equal", (NUMBERS, OTHERS), {}),
    ("match_substring_regex", (TEXTS, "^del.*a$"), {}),
    ("match_substring_regex", (TEXTS,), {"pattern": "^DEL", "ignore_case": True}),
    ("max", (NUMBERS,), {}),
    ("max", (NUMBERS.slice(0, 0),), {}),
    ("min_max", (NUMBERS,), {}),
    ("or_", (FLAGS, FLAGS), {}),
    ("quantile", (NUMBERS, 0.5), {"interpolation": "lower"}),
    ("quantile", (NUMBERS,), {"q": [0.25, 1]}),
    ("replace_substring_regex", (TEXTS, "%20", " "), {}),
    ("replace_substring_regex", (TEXTS,), {"pattern": "[a-z]", "replacement": "x"}),
    ("replace_with_mask", (pa.array([1, 2, 3, 4, 5]), MASK, pa.array([7, 8, 9])), {}),
    ("starts_with", (TEXTS, "deltas"), {}),
    ("struct_field", (ROWS, "a"), {}),
    ("struct_field", (ROWS, ["b", "c"]), {}),
    ("sum", (NUMBERS,), {}),
    ("sum", (NUMBERS,), {"min_count": 9}),
]  # fmt: skip


def test_every_function_is_tried() -> None:
    assert {name for name, _, _ in CALLS} == {*FUNCTIONS, "cast"}


@pytest.mark.parametrize(("name", "given", "options"), CALLS)
def test_a_function_answers_as_that_of_pyarrow_compute(
    name: str, given: tuple[object, ...], options: dict[str, object]
) -> None:
    function = make_function(name)
    assert function is not None
    ours, theirs = function(*given, **options), getattr(pc, name)(*given, **options)
    assert type(ours) is type(theirs)
    assert ours.equals(theirs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_called_as_pyarrow_compute_calls_it(name: str) -> None:
    """One that this release of pyarrow makes in another way may mean something else there."""
    theirs = getattr(pc, name).__arrow_compute_function__
    assert (theirs["arity"], theirs["options_class"] or None) == FUNCTIONS[name]


def test_an_option_that_there_is_not_is_refused() -> None:
    function = make_function("sum")
    assert function is not None
    with pytest.raises(TypeError, match="nonsense"):
        function(NUMBERS, nonsense=1)


def test_what_pyarrow_compute_has_besides_is_its_own() -> None:
    assert explorer.compute_functions.sort_indices is pc.sort_indices
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = explorer.compute_functions.no_such_function


FRESH = """
import json, sys
import explorer.compute_functions as pc
import numpy as np
import pyarrow as pa
from explorer.log.plain_arrays import build_array
numbers = build_array(np.array([3, 1]))
told = [pc.sum(numbers).as_py(), pc.cast(numbers, pa.string()).to_pylist()]
told += ["pyarrow.compute" in sys.modules, pc.sum is pc.sum]
told += [pc.value_counts(numbers).to_pylist()[0]["counts"], "pyarrow.compute" in sys.modules]
import pyarrow.compute
told += [pc.max is pyarrow.compute.max]
sys.modules["pyarrow._compute"] = None
del pa._compute
told += [pc.make_function("any")]
print(json.dumps(told))
"""


def test_that_module_is_imported_for_what_is_not_listed_alone() -> None:
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == [4, ["3", "1"], False, True, 1, True, True, None]
