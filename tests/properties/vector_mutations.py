"""Deletion vectors with something wrong in them, each the work of one seed."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson
from pyroaring import BitMap64

from explorer.errors import DeltaError
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    parse_descriptor,
    parse_file_path,
    parse_vector,
    render_vector,
    render_vector_file,
)

Kind = Literal["file", "content", "inline", "descriptor"]
KINDS: tuple[Kind, ...] = ("file", "content", "inline", "descriptor")

_FILE_NAME = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
_PLACE = "^-aqEH.-t@S}K{vb[*k^"
_NUMBERS = (0, 1, 2, 255, 4096, 4097, 65_535, 65_536, 2**31 - 1, 2**32 - 1, 2**60, 2**64 - 1)
_CLAIMS = (-(2**63), -1, 0, 1, 2**20, 2**28, 2**28 + 1, 2**31 - 1, 2**62)
_TEXTS = (
    "",
    "x",
    "#####",
    "../" * 20 + _PLACE,
    "/" + _PLACE,
    "file:" + _PLACE,
    "é" * 20,
    "\0" * 25,
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A sound vector: its descriptor and, unless it is inline, the file that holds it."""

    descriptor: DeletionVectorDescriptor
    data: bytes | None

    @property
    def file_name(self) -> str:
        return parse_file_path(self.descriptor) or _FILE_NAME

    @property
    def content(self) -> bytes:
        assert self.data is not None
        start = (self.descriptor.offset or 1) + 4
        return self.data[start : start + self.descriptor.size_in_bytes]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """What was made of a source, and how."""

    descriptor: DeletionVectorDescriptor
    data: bytes | None
    how: str


def sources(corpus: Path) -> list[Source]:
    """Vectors of real tables, and one of each kind of container; in a fixed order."""
    return [*_written(), *_real(corpus)]


def _written() -> Iterator[Source]:
    runs = BitMap64()
    for start in (0, 70_000, 2**32 + 5, 2**40):
        runs.add_range(start, start + 60_000)
    for positions in (
        [0],
        [3, 4, 7, 11, 18, 29],
        range(0, 200_000, 3),
        range(50_000, 150_000),
        [*range(0, 9000, 2), *range(65_536, 65_546), *range(131_072, 170_000), 2**33],
        runs,
    ):
        content = render_vector(positions)
        data, (offset,) = render_vector_file([content])
        yield Source(
            descriptor=DeletionVectorDescriptor(
                storage_type="u",
                path_or_inline_dv=_PLACE,
                offset=offset,
                size_in_bytes=len(content),
                cardinality=len(BitMap64(positions)),
            ),
            data=data,
        )
    yield Source(descriptor=build_inline_descriptor([2, 3, 5, 70_000]), data=None)
    example = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    older = DeletionVectorDescriptor(
        storage_type="i", path_or_inline_dv=example, size_in_bytes=40, cardinality=6
    )
    yield Source(descriptor=older, data=None)


def _real(corpus: Path) -> Iterator[Source]:
    for commit in sorted((corpus / "tables").glob("*/_delta_log/*[0-9].json")):
        for line in commit.read_bytes().splitlines():
            body = (_add(line) or {}).get("deletionVector")
            if body is None:
                continue
            descriptor = parse_descriptor(body, commit.name)
            if descriptor.storage_type == "i":
                yield Source(descriptor=descriptor, data=None)
                continue
            if descriptor.storage_type != "u":
                continue
            place = commit.parent.parent / (parse_file_path(descriptor) or "")
            if place.is_file():
                yield Source(descriptor=descriptor, data=place.read_bytes())


def _add(line: bytes) -> dict[str, Any] | None:
    try:
        action = orjson.loads(line)
    except ValueError:
        return None
    found = action.get("add") if isinstance(action, dict) else None
    return found if isinstance(found, dict) else None


def fits(source: Source, kind: Kind) -> bool:
    """Whether the source has what the kind changes."""
    return kind == "descriptor" or (kind == "inline") == (source.data is None)


def mutate(source: Source, kind: Kind, dice: random.Random) -> Mutant:
    """One thing changed in a source that fits."""
    if kind == "descriptor":
        return _mutate_descriptor(source, dice)
    descriptor = source.descriptor
    if source.data is None:
        text, how = _mutate_text(descriptor.path_or_inline_dv, dice)
        return Mutant(descriptor=replace(descriptor, path_or_inline_dv=text), data=None, how=how)
    if kind == "file":
        data, how = _mutate_bytes(source.data, dice)
        return Mutant(descriptor=descriptor, data=data, how=how)
    # a content with a sound size, checksum and cardinality around it
    content, how = _mutate_bytes(source.content, dice)
    framed = len(content).to_bytes(4, "big") + content + zlib.crc32(content).to_bytes(4, "big")
    changed = replace(descriptor, offset=1, size_in_bytes=len(content))
    with suppress(DeltaError):
        changed = replace(changed, cardinality=len(parse_vector(content)))
    return Mutant(descriptor=changed, data=b"\1" + framed, how=how)


def _mutate_descriptor(source: Source, dice: random.Random) -> Mutant:
    name = dice.choice(
        ("storage_type", "path_or_inline_dv", "offset", "size_in_bytes", "cardinality")
    )
    old = getattr(source.descriptor, name)
    value: Any
    if name == "storage_type":
        value = dice.choice(("u", "i", "p", "", "x" * 1000))
    elif name == "path_or_inline_dv":
        value = dice.choice((*_TEXTS, _mutate_text(old, dice)[0]))
    else:
        near = (old or 0) + dice.choice((-1, 1, 4, 1000))
        value = dice.choice((*_CLAIMS, near, near, None if name == "offset" else near))
    changed = replace(source.descriptor, **{name: value})
    return Mutant(descriptor=changed, data=source.data, how=f"{name} {value!r}"[:100])


def _mutate_text(text: str, dice: random.Random) -> tuple[str, str]:
    data, how = _mutate_bytes(text.encode(), dice)
    return data.decode("utf-8", "replace"), how


def _mutate_bytes(data: bytes, dice: random.Random) -> tuple[bytes, str]:
    at = dice.randrange(len(data) + 1)
    # what a vector claims stands at its beginning
    at = min(at, dice.choice((len(data), 64, 24)))
    how = dice.choice(
        ("flip", "flip", "flip", "number", "number", "cut", "drop", "double", "splice")
    )
    if how == "flip":
        changed = bytearray(data)
        for _ in range(dice.choice((1, 1, 2, 8)) if data else 0):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        return bytes(changed), how
    size = dice.choice((1, 2, 4, 8))
    if how == "number":
        number = dice.choice(_NUMBERS) % 256**size
        return data[:at] + number.to_bytes(size, "little") + data[at + size :], how
    rest = {
        "cut": b"",
        "drop": data[at + size :],
        "double": data[at : at + size] * 2 + data[at + size :],
        "splice": dice.randbytes(size) + data[at:],
    }[how]
    return data[:at] + rest, how
