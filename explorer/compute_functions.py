"""Arrow's compute functions by name, without `pyarrow.compute`.

    import explorer.compute_functions as pc

`pyarrow.compute` makes some 280 functions with their signatures and documentation when it is
imported: 19 ms, an eighth of a line of the command line that reads a checkpoint, and needs a dozen
of them. Here each is made when it is first asked for. Where somebody has imported that module
already, and for whatever is not listed here, they are its own.

This is for the modules that open a table and count its rows. Methods of arrays such as `filter`,
`is_valid`, `is_null`, `cast` and `take` import that module: the functions of these names do not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_Arity = int | EllipsisType
_Function = Callable[..., Any]

FUNCTIONS: Final[Mapping[str, tuple[_Arity, str | None]]] = {
    "all": (1, "ScalarAggregateOptions"),
    "and_": (2, None),
    "any": (1, "ScalarAggregateOptions"),
    "binary_join_element_wise": (..., "JoinOptions"),
    "coalesce": (..., None),
    "equal": (2, None),
    "filter": (2, "FilterOptions"),
    "greater_equal": (2, None),
    "if_else": (3, None),
    "indices_nonzero": (1, None),
    "invert": (1, None),
    "is_in": (1, "SetLookupOptions"),
    "is_null": (1, "NullOptions"),
    "is_valid": (1, None),
    "less": (2, None),
    "less_equal": (2, None),
    "match_substring_regex": (1, "MatchSubstringOptions"),
    "max": (1, "ScalarAggregateOptions"),
    "min_max": (1, "ScalarAggregateOptions"),
    "or_": (2, None),
    "quantile": (1, "QuantileOptions"),
    "replace_substring_regex": (1, "ReplaceSubstringOptions"),
    "replace_with_mask": (3, None),
    "starts_with": (1, "MatchSubstringOptions"),
    "struct_field": (1, "StructFieldOptions"),
    "sum": (1, "ScalarAggregateOptions"),
}
"""How many arrays a function takes, and what its options are, as `pyarrow.compute` has them."""

_NAMES: Final[Mapping[str, str]] = {"and_": "and", "or_": "or"}
"""Arrow's own names of those that are words of Python."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    made = None
    if (name in FUNCTIONS or name == "cast") and "pyarrow.compute" not in sys.modules:
        made = make_function(name)
    if made is None:
        import pyarrow.compute  # noqa: PLC0415  # see above

        made = getattr(pyarrow.compute, name)
    globals()[name] = made
    return made


def make_function(name: str) -> _Function | None:
    """One of `FUNCTIONS`, or `cast`, as `pyarrow.compute` makes it; None where this release of
    pyarrow keeps elsewhere what that takes."""
    try:
        from pyarrow import _compute  # noqa: PLC0415
    except ImportError:
        return None
    if name == "cast":
        return partial(_cast, _compute)
    arity, options_name = FUNCTIONS[name]
    function = _compute.function_registry().get_function(_NAMES.get(name, name))
    options_class: Any = options_name and getattr(_compute, options_name)

    def call(*given: Any, memory_pool: pa.MemoryPool | None = None, **options: Any) -> Any:
        count = len(given) if arity is ... else arity
        arrays, rest = given[:count], given[count:]
        made = options_class(*rest, **options) if rest or options else None
        return function.call(arrays, made, memory_pool)

    return call


def _cast(compute: Any, values: Any, target_type: pa.DataType, *, safe: bool = True) -> Any:
    options = compute.CastOptions
    made = options.safe(target_type) if safe else options.unsafe(target_type)
    return compute.call_function("cast", [values], made)
