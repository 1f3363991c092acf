"""Sizes in bytes as properties have them."""

from __future__ import annotations

import pytest

from explorer.protocol.table_properties.byte_sizes import parse_byte_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("104857600b", 104_857_600),
        (" 100 MB ", 100 * 2**20),
        ("1g", 2**30),
        ("2KiB", 2048),
    ],
)
def test_units_are_binary(text: str, size: int) -> None:
    assert parse_byte_size(text) == size


@pytest.mark.parametrize("text", ["", "mb", "1.5gb", "-1", "0", "1 pb", "9" * 30, "99999999tb"])
def test_what_is_no_size_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="it must be"):
        parse_byte_size(text)
