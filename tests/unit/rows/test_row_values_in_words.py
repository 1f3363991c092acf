"""Times among the values of rows, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from explorer.rows.row_values import plain_objects, row_objects

_NOON = datetime(2026, 10, 19, 12, 0, 7, tzinfo=UTC)
_LATER = _NOON.replace(microsecond=686_000)


def test_all_times_of_a_column_have_the_same_digits_and_none_where_all_are_zero() -> None:
    kind = pa.timestamp("us", "UTC")
    rows = pa.table(
        {
            "at": pa.array([_NOON, None, _LATER], kind),
            "whole": pa.array([_NOON, _NOON, None], kind),
            "wall": pa.array([_LATER.replace(tzinfo=None), None, None], pa.timestamp("us")),
        }
    )
    found = list(plain_objects(rows))
    assert [row["at"] for row in found] == [
        "2026-10-19 12:00:07.000 UTC",
        None,
        "2026-10-19 12:00:07.686 UTC",
    ]
    assert [row["whole"] for row in found] == ["2026-10-19 12:00:07 UTC"] * 2 + [None]
    assert found[0]["wall"] == "2026-10-19 12:00:07.686"
    assert next(row_objects(rows))["at"] == "2026-10-19T12:00:07.000000Z"


def test_times_within_structs_lists_and_maps_follow_the_same_rule() -> None:
    kind = pa.timestamp("us", "UTC")
    inner = pa.array([[_NOON, _LATER], []], pa.list_(kind))
    structs = pa.array([{"a": _LATER}, {"a": None}], pa.struct([("a", kind)]))
    maps = pa.array([[("x", _LATER)], []], pa.map_(pa.string(), kind))
    first = next(plain_objects(pa.table({"l": inner, "s": structs, "m": maps})))
    assert first["l"] == ["2026-10-19 12:00:07.000 UTC", "2026-10-19 12:00:07.686 UTC"]
    assert first["s"] == {"a": "2026-10-19 12:00:07.686 UTC"}
    assert first["m"] == {"x": "2026-10-19 12:00:07.686 UTC"}
