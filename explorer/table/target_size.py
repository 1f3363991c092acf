"""The size that data files should have (spec: Table Properties)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.protocol.table_properties.byte_sizes import parse_byte_size
from explorer.protocol.table_properties.known_properties import TARGET_FILE_SIZE

DEFAULT_TARGET: Final = 2**30
"""Bytes, where the table does not say: that of OPTIMIZE in the reference."""


def target_file_size(configuration: Mapping[str, str]) -> tuple[int, str]:
    """Bytes, and where the number comes from: the table, or the default."""
    if TARGET_FILE_SIZE.text_in(configuration) is None:
        return DEFAULT_TARGET, "the default of OPTIMIZE"
    try:
        return check_target_file_size(configuration), TARGET_FILE_SIZE.name
    except InvalidArgumentError:
        return DEFAULT_TARGET, f"the default: {TARGET_FILE_SIZE.name} cannot be read"


def check_target_file_size(configuration: Mapping[str, str]) -> int:
    """The number of `target_file_size` for writing files; raises `InvalidArgumentError` where
    the table's property cannot be read."""
    text = TARGET_FILE_SIZE.text_in(configuration)
    if text is None:
        return DEFAULT_TARGET
    remedy = f"Give a size, or correct the property {TARGET_FILE_SIZE.name}, such as to 128mb."
    return parse_target(text, remedy)


def parse_target(text: str, remedy: str) -> int:
    """Bytes; raises `InvalidArgumentError`, with a remedy, for what is not a size of a file."""
    try:
        return parse_byte_size(text)
    except ValueError as error:
        raise InvalidArgumentError(
            f"{text[:60]!r} is not a valid file size.",
            reason=f"As a size, {error}.",
            remedy=remedy,
        ) from error
