"""Rows that deletion vectors hide from now on (spec: Deletion Vectors, Deletion Vector Format).

A file with a live row left is removed and added again with another vector; its statistics stay and
say that their bounds may be wide. Many vectors share a file of bounded size; few small ones stand
in the log itself, so that a statement about some rows writes no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
from pyroaring import BitMap64

from explorer.log.actions.columns import DELETION_VECTOR, string_column
from explorer.log.plain_arrays import TRUE
from explorer.protocol.statistics import widen_statistics
from explorer.protocol.table_properties.known_properties import (
    RANDOM_PREFIX_LENGTH,
    RANDOMIZE_FILE_PREFIXES,
)
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    build_inline_descriptor,
    parse_relative_place,
    render_relative_place,
    render_vector,
    render_vector_file,
)
from explorer.rows.data_file.data_file import data_file_batches
from explorer.rows.data_file.deletion_vectors import read_deletion_vectors
from explorer.storage.ports import WriteStore
from explorer.table.snapshot import Snapshot
from explorer.writing.changes.found_rows import parse_positions
from explorer.writing.files.leftovers import raise_without, vector_id

_FILE_BYTES: Final = 2 * 2**20
"""Of vectors in one file, as the reference packs them; a single one may be larger."""

_INLINE_BYTES: Final = 2**10
"""Of all vectors of a statement together that stand in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRows:
    """`before` and `after` are the same live files, with every column of an add: as the version has
    them, and as they are to be. `paths` are the new files of vectors."""

    before: pa.Table
    after: pa.Table
    paths: tuple[str, ...] = ()


def hidden_after(snapshot: Snapshot, live: pa.Table, positions: list[bytes]) -> Iterator[BitMap64]:
    """For each live file the positions that are hidden once those of `positions` are too."""
    at = 0
    for some in data_file_batches(live):
        stored = [file.deletion_vector for file in some if file.deletion_vector is not None]
        known = iter(read_deletion_vectors(snapshot.store, stored))
        for file in some:
            found = parse_positions(positions[at])
            at += 1
            yield found if file.deletion_vector is None else found | next(known)


def inline_vectors(snapshot: Snapshot, live: pa.Table, positions: list[bytes]) -> pa.Table:
    """The live files, read without these rows too: for work that copies the rows that stay."""
    bodies = [
        _body(build_inline_descriptor(hidden)) for hidden in hidden_after(snapshot, live, positions)
    ]
    return _with_vectors(live, bodies)


def only_these(live: pa.Table, positions: list[bytes], counts: list[int]) -> pa.Table:
    """The live files, read without any other rows than these; `counts` are their physical rows."""
    bodies = []
    for data, count in zip(positions, counts, strict=True):
        others = BitMap64()
        others.add_range(0, count)
        bodies.append(_body(build_inline_descriptor(others - parse_positions(data))))
    return _with_vectors(live, bodies)


def hide_rows(
    store: WriteStore,
    snapshot: Snapshot,
    live: pa.Table,
    positions: list[bytes],
    counts: list[int],
    statement: UUID,
) -> HiddenRows:
    """Write vectors that hide, in each of some `live` files, with every column of an add, the rows
    at `positions` too; `counts` are their physical rows. Raises what the store raises; then no file
    of vectors is left as far as it allows."""
    packed = _Packed(store=store, snapshot=snapshot, statement=statement)
    try:
        for hidden in hidden_after(snapshot, live, positions):
            packed.add(hidden)
        bodies = packed.end()
        texts = live.column("stats").to_pylist()
        stats = [widen_statistics(text, count) for text, count in zip(texts, counts, strict=True)]
        after = _with_vectors(live, bodies)
        after = _replaced(after, "stats", string_column(stats))
        after = _replaced(after, "data_change", pa.repeat(TRUE, live.num_rows))
    except BaseException as error:
        raise_without(store, packed.paths, error)
        raise
    return HiddenRows(before=live, after=after, paths=tuple(packed.paths))


@dataclass(slots=True, kw_only=True)
class _Packed:
    """Vectors on their way into files."""

    store: WriteStore
    snapshot: Snapshot
    statement: UUID
    paths: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    held: list[tuple[bytes, BitMap64]] = field(default_factory=list)
    held_bytes: int = 0

    def add(self, hidden: BitMap64) -> None:
        content = render_vector(hidden)
        if self.held and self.held_bytes + len(content) > _FILE_BYTES:
            self._write()
        self.held.append((content, hidden))
        self.held_bytes += len(content)

    def end(self) -> list[dict[str, Any]]:
        """The descriptors of all, in order."""
        if not self.paths and self.held_bytes <= _INLINE_BYTES:
            return [_body(build_inline_descriptor(hidden)) for _, hidden in self.held]
        if self.held:
            self._write()
        return self.bodies

    def _write(self) -> None:
        unique = vector_id(self.statement, len(self.paths))
        configuration = self.snapshot.metadata.configuration
        prefix = ""
        if RANDOMIZE_FILE_PREFIXES.value_of(configuration):
            prefix = unique.hex[-RANDOM_PREFIX_LENGTH.value_of(configuration) :]
        place = render_relative_place(unique, prefix)
        path = parse_relative_place(place)
        data, offsets = render_vector_file([content for content, _ in self.held])
        self.paths.append(path)  # which may be there, whatever the store says
        self.store.write(path, data)
        for (content, hidden), offset in zip(self.held, offsets, strict=True):
            vector = DeletionVectorDescriptor(
                storage_type="u",
                path_or_inline_dv=place,
                offset=offset,
                size_in_bytes=len(content),
                cardinality=len(hidden),
            )
            self.bodies.append(_body(vector))
        self.held, self.held_bytes = [], 0


def _body(vector: DeletionVectorDescriptor) -> dict[str, Any]:
    return {item.name: getattr(vector, item.name) for item in DELETION_VECTOR}


def _with_vectors(live: pa.Table, bodies: list[dict[str, Any]]) -> pa.Table:
    return _replaced(live, "deletion_vector", pa.array(bodies, DELETION_VECTOR))


def _replaced(files: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return files.set_column(files.schema.get_field_index(name), name, values)
