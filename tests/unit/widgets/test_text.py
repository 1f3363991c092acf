"""How values become text on the page."""

from __future__ import annotations

import csv
import io
import math
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.text import (
    UNKNOWN,
    csv_cell,
    cut,
    cut_middle,
    cut_path,
    format_age,
    format_bytes,
    format_change,
    format_count,
    format_file_change,
    format_minute,
    format_share,
    format_short,
    format_signed_bytes,
    format_time,
    last_part,
    read_moment,
    shell_word,
    visible,
)

NOON = datetime(2026, 10, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1024 * 1024 - 1, "1.0 MiB"),
        (int(899.2 * 2**30), "899.2 GiB"),
        (2**63 - 1, "8.0 EiB"),
        (-1536, "\N{MINUS SIGN}1.5 KiB"),
        (None, UNKNOWN),
    ],
)
def test_bytes_are_shown_in_binary_units(size: int | None, text: str) -> None:
    assert format_bytes(size) == text


def test_a_number_that_is_not_known_is_never_zero() -> None:
    shown = [format_bytes(None), format_count(None), format_short(None), format_signed_bytes(None)]
    assert shown == [UNKNOWN] * 4
    assert format_change(None, None) == UNKNOWN
    assert "0" not in format_change(None, 5)
    assert format_change(3, None) == "+3 \N{MINUS SIGN}?"


def test_files_with_a_new_deletion_vector_are_told_beside_those_that_came_and_went() -> None:
    zero = "+0 \N{MINUS SIGN}0"
    assert [format_file_change(0, 0, count) for count in (None, 0, 1, 1_044)] == [
        zero,
        zero,
        f"{zero}, 1 with a new deletion vector",
        f"{zero}, 1,044 with new deletion vectors",
    ]


def test_large_counts_are_shortened_and_small_ones_are_exact() -> None:
    assert format_short(1_940_000_000) == "1.94 B"
    assert format_short(999_999) == "999,999"


def test_a_small_share_is_not_shown_as_none() -> None:
    assert format_share(1, 10**9) == "<0.01%"
    assert format_share(0, 10) == "0.00%"
    assert format_share(0, 0) == "0%"


def test_times_are_shown_in_utc_whatever_their_zone() -> None:
    eastern = datetime.fromisoformat("2026-10-20T08:00:00-04:00")
    assert format_time(eastern) == "2026-10-20 12:00:00 UTC"
    assert format_minute(eastern) == "2026-10-20 12:00"


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=40), "1 month ago"),
        (timedelta(days=-1), "in the future"),
    ],
)
def test_ages_are_in_the_largest_unit_that_fits(ago: timedelta, text: str) -> None:
    assert format_age(NOON - ago, NOON) == text


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), math.nan, None])
def test_a_time_outside_of_the_calendar_is_unknown(value: float | None) -> None:
    assert read_moment(value) is None


def test_cut_texts_keep_within_their_limit() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert len(cut_middle("x" * 100, 21)) == 21
    assert cut_middle("short", 21) == "short"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a/short.parquet", "a/short.parquet"),
        (
            "country=DE/part-00000-7f3a1b2c-1a2b-4c3d-9e8f-0a1b2c3d4e5f-c000.snappy.parquet",
            "country=DE/part-00000-7f3a1b2c-….parquet",
        ),
        ("7f3a1b2c-1a2b-4c3d-9e8f-0a1b2c3d4e5f-x-y-z", "7f3a1b2c-1a2b-4c3d-9e8f-0a1b2c3d4e5f-x-…"),
        ("day=2026-11-27/country=DE/hour=12/a.parquet", "day=20…our=12/a.parquet"),
    ],
)  # fmt: skip
def test_paths_of_files_are_cut_where_they_can_still_be_told_apart(path: str, shown: str) -> None:
    assert cut_path(path, 40) == shown


@given(st.text(), st.text(), st.integers(40, 80))
def test_a_cut_path_keeps_within_its_limit(folder: str, name: str, limit: int) -> None:
    assert len(cut_path(f"{folder}/{name}", limit)) <= limit


def test_the_last_part_names_a_table() -> None:
    assert last_part("s3://lake/sales/orders/") == "orders"
    assert last_part("/") == "/"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_csv_cell_that_a_spreadsheet_would_run_is_neutralised(start: str) -> None:
    cell = next(csv.reader(io.StringIO(csv_cell(f"{start}cmd|' /C calc'!A0"), newline="")))[0]
    assert cell.startswith("'")


def test_a_negative_number_stays_a_number_in_csv() -> None:
    assert csv_cell(-5) == "-5"


@given(st.lists(st.text(alphabet=st.characters(blacklist_characters="\x00")), min_size=2))
def test_csv_is_read_back_as_it_was_but_for_the_apostrophe(cells: list[str]) -> None:
    line = ",".join(map(csv_cell, cells)) + "\r\n"
    (read,) = csv.reader(io.StringIO(line, newline=""))
    for cell, back in zip(cells, read, strict=True):
        assert back in {cell, "'" + cell}


@pytest.mark.parametrize("shorten", [cut, cut_middle])
def test_what_nobody_sees_or_what_turns_text_around_is_shown_as_its_escape(
    shorten: Callable[[str, int], str],
) -> None:
    assert shorten("a\u202egnp.exe\u2069\x1b[31m\x9b\x00", 80) == (
        "a\\u202egnp.exe\\u2069\\u001b[31m\\u009b\\u0000"
    )
    assert shorten("שלום\tcafé\n", 80) == "שלום\tcafé\n"


@pytest.mark.parametrize(
    "word",
    [
        "orders",
        "a b'c\\d",
        "it's \u202ecod.exe\u202c \u2066a\u2069",
        "\x1b[31mred\x07\x7f1 \\u0041 \\'",
        "-\x85ü\u200e",
    ],
)
def test_a_word_for_the_shell_is_seen_whole_and_means_the_same(word: str) -> None:
    shown = shell_word(word)
    assert visible(shown) == shown
    done = subprocess.run(
        ["bash", "-c", f"printf %s {shown}"],
        env={"LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout.decode() == word
