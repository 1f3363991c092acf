"""Numbers, sizes and text for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.cli.printing.wording import printable, render_change, render_count, render_size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "?"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (5 * 1024**3, "5.0 GiB"),
        (2**63 - 1, "8.0 EiB"),
    ],
)
def test_sizes_are_in_binary_units(size: int | None, text: str) -> None:
    assert render_size(size) == text


def test_an_unknown_count_is_a_question_mark_and_zero_is_zero() -> None:
    assert (render_count(None), render_count(0), render_count(1234567)) == ("?", "0", "1,234,567")


@pytest.mark.parametrize(
    ("added", "removed", "text"),
    [(3, 2, "+3 -2"), (3, 0, "+3"), (0, 2, "-2"), (0, 0, ""), (None, 0, "+?"), (4, None, "+4 -?")],
)
def test_a_change_shows_what_is_unknown_and_leaves_out_zeros(
    added: int | None, removed: int | None, text: str
) -> None:
    assert render_change(added, removed) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünï 表", "plain ünï 表"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b5m", r"\x9b5m"),
        ("txt.\u202egnp", r"txt.\u202egnp"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("line\u2028end", r"line\u2028end"),
        ("lone\udcff", r"lone\udcff"),
        ("[red]markup[/red]", "[red]markup[/red]"),
    ],
)
def test_nothing_that_a_terminal_obeys_is_left(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_printable_text_is_printable_and_stays_so(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown


def test_long_text_is_cut_before_it_is_escaped() -> None:
    assert printable("x" * 10_000_000, 20) == "x" * 17 + "..."
