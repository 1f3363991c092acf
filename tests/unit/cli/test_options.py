"""How options are read."""

from __future__ import annotations

import pytest

from explorer.cli.arguments.options import parse_instant, parse_storage_options
from explorer.errors import InvalidArgumentError


def test_storage_options_keep_text_as_text() -> None:
    pairs = ["anon=true", "Check=False", "key=0123", "secret=a=b", "empty=", 'kw={"verify":false}']
    assert parse_storage_options(pairs) == {
        "anon": True,
        "Check": False,
        "key": "0123",
        "secret": "a=b",
        "empty": "",
        "kw": {"verify": False},
    }


@pytest.mark.parametrize("pairs", [None, []])
def test_no_storage_options_are_none(pairs: list[str] | None) -> None:
    assert parse_storage_options(pairs) is None


@pytest.mark.parametrize("pair", ["hunter2", "=hunter2", "key={hunter2", "key=[hunter2"])
def test_an_unreadable_storage_option_is_refused_without_repeating_it(pair: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_storage_options([pair])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["yesterday", "2026-11-01", "2026-11-01T00:00:00", ""])
def test_a_time_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_instant(text)


def test_a_time_with_a_zone_is_read() -> None:
    assert parse_instant("2026-11-01T02:00:00+02:00") == parse_instant("2026-11-01T00:00:00Z")
