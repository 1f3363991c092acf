"""The size that data files should have (spec: Table Properties)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from explorer.protocol.byte_sizes import parse_byte_size
from explorer.protocol.known_properties import TARGET_FILE_SIZE

DEFAULT_TARGET: Final = 2**30
"""Bytes, where the table does not say: that of OPTIMIZE in the reference."""


def target_file_size(configuration: Mapping[str, str]) -> tuple[int, str]:
    """Bytes, and where the number comes from: the table, or the default."""
    text = TARGET_FILE_SIZE.value_of(configuration)
    if text is None:
        return DEFAULT_TARGET, "the default of OPTIMIZE"
    try:
        return parse_byte_size(text), TARGET_FILE_SIZE.name
    except ValueError:
        return DEFAULT_TARGET, f"the default: {TARGET_FILE_SIZE.name} cannot be read"
