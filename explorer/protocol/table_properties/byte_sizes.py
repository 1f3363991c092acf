"""Sizes in bytes: as properties have them, `104857600`, `100mb`, `1g` (spec: Table Properties),
and as people are told them, `100.0 MiB`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SIZE: Final = re.compile(r"(\d{1,18})\s*([a-z]*)", re.ASCII)
_UNITS: Final[Mapping[str, int]] = {
    unit: 1024**power
    for power, units in enumerate(
        [("", "b"), ("k", "kb", "kib"), ("m", "mb", "mib"), ("g", "gb", "gib"), ("t", "tb", "tib")]
    )
    for unit in units
}

_SHOWN: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def parse_byte_size(text: str) -> int:
    """The bytes; units are binary, as the reference takes them. Raises `ValueError`."""
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None or found[2] not in _UNITS:
        raise ValueError("it must be a number of bytes, or one with a unit such as mb or gb")
    size: int = int(found[1]) * _UNITS[found[2]]
    if not 0 < size < 2**63:
        raise ValueError("it must be at least one byte, and a 64-bit number")
    return size


def render_byte_size(size: int) -> str:
    """Bytes in binary units, for people: `300 B`, `1.5 KiB`."""
    if abs(size) < 1024:
        return f"{size} B"
    value = float(size)
    for unit in _SHOWN:
        value /= 1024
        if abs(value) < 1023.95 or unit == _SHOWN[-1]:
            break
    return f"{value:.1f} {unit}"
