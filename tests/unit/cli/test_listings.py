"""Listings on a terminal: what gives way where it is narrow."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from explorer.cli.printing.listings import Column, TimeColumn, count_fitting, print_listing

NAME = Column(title="name", render=lambda row: row["name"], shrinks=True)
WHY = Column(title="why it is so", render=lambda row: row["why"], shrinks=True)
SIZE = Column(title="size", render=lambda row: row["size"], align="right")
ROW = {"name": "part-" * 9, "why": "min is above " * 4, "size": "12.5 MiB"}


def printed(width: int, columns: list[Column], *rows: Mapping[str, Any]) -> list[str]:
    stream = io.StringIO()
    print_listing(Console(file=stream, width=width), columns, rows)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_long_columns_share_what_short_ones_leave() -> None:
    heading, line = printed(60, [NAME, SIZE, WHY], ROW)
    assert heading.split() == ["name", "size", "why", "it", "is", "so"]
    name, size, why = line.split("  ")
    assert (len(name), size.strip(), len(why)) == (24, "12.5 MiB", 24)


@pytest.mark.parametrize("width", [38, 45, 60, 80, 140])
def test_no_title_is_cut_and_no_line_is_too_long(width: int) -> None:
    lines = printed(width, [NAME, SIZE, WHY], ROW, {"name": "a", "why": "", "size": "1 B"})
    assert "why it is so" in lines[0]
    assert max(map(len, lines)) <= width


def test_columns_that_fit_are_counted_and_the_first_always_does() -> None:
    columns = [NAME, SIZE, WHY]
    widths = {width: count_fitting(Console(width=width), columns, [ROW]) for width in range(1, 40)}
    assert (widths[3], widths[21], widths[22], widths[35], widths[36]) == (1, 1, 2, 2, 3)


def test_a_column_of_times_has_one_form() -> None:
    at = TimeColumn(title="time", moment=lambda row: row["at"], unknown="-")
    noon = datetime(2026, 11, 25, 12, tzinfo=UTC)
    rows: list[dict[str, Any]] = [{"at": noon}, {"at": None}]
    assert printed(80, [at], *rows)[1:] == ["2026-11-25 12:00 UTC", "-"]
    rows.append({"at": noon.replace(second=9)})
    assert printed(80, [at], *rows)[1:] == [
        "2026-11-25 12:00:00 UTC",
        "-",
        "2026-11-25 12:00:09 UTC",
    ]
