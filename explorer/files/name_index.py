"""Where names stand among many others, a million against a million.

Arrow's look-up of texts copies all of them into its table, which takes three times their
memory. Here each has a number made of its bytes, the numbers are looked up, and what they
find is compared text by text, so that the answer is exact whatever the numbers are.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import (
    FALSE,
    Flags,
    Numbers,
    build_array,
    in_one_piece,
    read_flags,
    read_values,
)
from explorer.log.text_bytes import offsets_of
from explorer.storage.concurrent_reads import run_concurrently

Fingerprints = npt.NDArray[np.uint64]

_AT_ONCE = 32_768
"""Texts, so many that their bytes and numbers stay in a processor's cache."""
_THREADS = 2
_MAX_CHUNKS = 1024
_WORD = 8
_OPEN = -2
_START, _FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)


class NameIndex:
    """Texts that others are looked up among; those that are null are never found."""

    def __init__(self, names: pa.ChunkedArray) -> None:
        if names.num_chunks > _MAX_CHUNKS:
            names = pa.chunked_array([in_one_piece(names)])
        self.names = names
        numbers = fingerprints(names)
        self._order = np.argsort(numbers)
        self._sorted = numbers[self._order]
        ends = np.cumsum([len(chunk) for chunk in names.chunks], dtype=np.int64)
        self._starts = np.concatenate([np.zeros(1, np.int64), ends])

    @cached_property
    def may_be_repeated(self) -> Flags:
        """Which of the texts may stand there more than once; the others certainly do not."""
        same = self._sorted[1:] == self._sorted[:-1]
        found = np.zeros(len(self.names), np.bool_)
        found[self._order[1:][same]] = True
        found[self._order[:-1][same]] = True
        return found

    @cached_property
    def is_distinct(self) -> bool:
        """Whether it is certain that no two of the texts are the same."""
        return not self.may_be_repeated.any()

    def positions_of(self, wanted: pa.ChunkedArray) -> Numbers:
        """Where each of `wanted` stands, -1 for what is not there. Of several places of a text
        it is always the same one."""
        if not len(self.names):
            return np.full(len(wanted), -1, np.int64)
        pieces = run_concurrently(self._look_up, _pieces(wanted), _THREADS)
        found = np.concatenate([np.zeros(0, np.int64), *pieces])
        open_still = np.flatnonzero(found == _OPEN)
        if len(open_still):
            rest = wanted.take(build_array(open_still))
            exact = pc.index_in(rest, value_set=self.names, skip_nulls=True)
            found[open_still] = read_values(pc.fill_null(exact, _NOWHERE))
        return found

    def _look_up(self, wanted: pa.Array) -> Numbers:
        """`positions_of` some texts, `_OPEN` where their numbers do not tell."""
        start = int(self._by_numbers(wanted.slice(0, 1))[0]) if self.is_distinct else -1
        if start < 0:
            return self._by_numbers(wanted)
        # both are often in one order, and then no text needs a number
        found = np.arange(start, start + len(wanted))
        there = self.names.slice(start, len(wanted))
        same = np.zeros(len(wanted), np.bool_)
        same[: len(there)] = read_flags(pc.equal(there, wanted.slice(0, len(there))))
        if not same.all():
            found[~same] = self._by_numbers(wanted.filter(build_array(~same)))
        return found

    def _by_numbers(self, wanted: pa.Array) -> Numbers:
        numbers = _fingerprints(wanted)
        order = np.argsort(numbers)
        near = np.searchsorted(self._sorted, numbers[order])
        near = np.minimum(near, len(self._sorted) - 1)
        alike = self._sorted[near] == numbers[order]
        rows, at = order[alike], self._order[near[alike]]
        # in the order of the places, texts are picked chunk by chunk
        order = np.argsort(at)
        rows, at = rows[order], at[order]
        same = self._are_equal(wanted, rows, at)
        found = np.full(len(wanted), -1, np.int64)
        # others are two texts with one number, or nulls
        found[rows] = np.where(same, at, _OPEN)
        return found

    def _are_equal(self, wanted: pa.Array, rows: Numbers, at: Numbers) -> Flags:
        """Whether those of `wanted` in some rows are the texts at these places, which ascend."""
        cuts = np.searchsorted(at, self._starts)
        there = [
            chunk.take(build_array(at[first:end] - start))
            for chunk, start, first, end in zip(
                self.names.chunks, self._starts[:-1], cuts[:-1], cuts[1:], strict=True
            )
            if end > first
        ]
        if not there:
            return np.zeros(0, np.bool_)
        same = pc.equal(wanted.take(build_array(rows)), pa.concat_arrays(there))
        return read_values(pc.fill_null(same, FALSE))


def codes_of(names: pa.ChunkedArray) -> Numbers:
    """A number for each text, none of which is null: only equal texts get equal numbers."""
    index = NameIndex(names)
    codes, repeated = np.arange(len(names)), index.may_be_repeated
    if repeated.any():
        codes[repeated] = index.positions_of(names.filter(build_array(repeated)))
    return codes


def fingerprints(names: pa.ChunkedArray) -> Fingerprints:
    """A number for each text, the same for the same; others have nearly always another."""
    found = run_concurrently(_fingerprints, _pieces(names), _THREADS)
    return np.concatenate([np.zeros(0, np.uint64), *found])


def _fingerprints(texts: pa.Array) -> Fingerprints:
    offsets = offsets_of(texts).astype(np.int64)
    starts, lengths = offsets[:-1], np.diff(offsets)
    numbers = lengths.astype(np.uint64) * _START
    if offsets[-1] - offsets[0] < _WORD or not len(lengths):
        return _mixed(numbers, _short_words(texts, starts, lengths))
    data = np.frombuffer(texts.buffers()[2], np.uint8)[: offsets[-1]]
    # the eight bytes from each byte on
    words = np.lib.stride_tricks.as_strided(data[:_WORD].view("<u8"), (len(data) - 7,), (1,))
    shortest = int(lengths.min())
    for done in range(0, int(lengths.max()), _WORD):
        if done + _WORD <= shortest:
            numbers = _mixed(numbers, words[starts + done])
            continue
        # the last word of a text is that before its end
        rows = np.flatnonzero(lengths > max(done, _WORD - 1))
        at = starts[rows] + np.minimum(done, lengths[rows] - _WORD)
        numbers[rows] = _mixed(numbers[rows], words[at])
    short = np.flatnonzero(lengths < _WORD)
    if len(short):
        numbers[short] = _mixed(numbers[short], _short_words(texts, starts[short], lengths[short]))
    return numbers


def _mixed(numbers: Fingerprints, words: Fingerprints) -> Fingerprints:
    numbers = numbers ^ words
    numbers *= _FACTOR
    numbers ^= numbers >> _HALF
    return numbers


def _short_words(texts: pa.Array, starts: Numbers, lengths: Numbers) -> Fingerprints:
    """The bytes of texts that have fewer than eight, as numbers."""
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    within = np.arange(_WORD)
    spread = np.zeros((len(starts), _WORD), np.uint8)
    rows, columns = np.nonzero(within < lengths[:, np.newaxis])
    spread[rows, columns] = data[starts[rows] + columns]
    found: Fingerprints = spread.view("<u8").reshape(-1)
    return found


def _pieces(names: pa.ChunkedArray) -> list[pa.Array]:
    return [
        chunk.slice(start, _AT_ONCE)
        for chunk in names.chunks
        for start in range(0, len(chunk), _AT_ONCE)
    ]


_NOWHERE = pa.Array.from_buffers(pa.int32(), 1, [None, pa.py_buffer(b"\xff" * 4)])[0]
