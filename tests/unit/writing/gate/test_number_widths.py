"""Which number types hold every number of another one."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pyarrow as pa
import pytest

from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import DataType, DecimalType, parse_type_name, render_type
from explorer.writing.gate._plain_casts import cast_plain
from explorer.writing.gate.number_widths import is_wider

_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_KINDS = [
    parse_type_name(name)
    for name in (*_BITS, "decimal(3,0)", "decimal(5,2)", "decimal(10,0)", "decimal(19,0)",
                 "decimal(20,1)", "decimal(38,38)", "decimal(38,0)")
]  # fmt: skip


def ends(kind: DataType) -> pa.Array:
    """The smallest, the largest, and the finest number of a type."""
    if isinstance(kind, DecimalType):
        most = Decimal((0, (9,) * kind.precision, -kind.scale))
        return pa.array(
            [most, most.copy_negate(), Decimal((0, (1,), -kind.scale))], arrow_type(kind)
        )
    end = 1 << (_BITS[render_type(kind)] - 1)
    return pa.array([-end, end - 1, 1], arrow_type(kind))


@pytest.mark.parametrize("source", _KINDS, ids=render_type)
def test_a_type_is_wider_where_the_ends_of_the_other_are_stored_as_they_are(
    source: DataType,
) -> None:
    for target in _KINDS:
        given = ends(source)
        found = cast_plain(given, source, target)
        back = cast_plain(found.values, target, source)
        kept = found.lost is None and back.lost is None and back.values == given
        # a decimal is never a whole number for certain: the session's casts take it one by one
        is_narrower_kind = isinstance(source, DecimalType) and not isinstance(target, DecimalType)
        assert is_wider(source, target) == (kept and not is_narrower_kind), render_type(target)


def test_other_types_are_no_wider_numbers() -> None:
    for name in ("float", "string", "date"):
        for one, other in product((parse_type_name(name), parse_type_name("long")), repeat=2):
            assert not is_wider(one, other) or one == other == parse_type_name("long")
