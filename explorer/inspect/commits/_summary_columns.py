"""What many small commits did, in figures, without an object for each action (spec: Actions).

The figures are those of `_commit_summary`, whose rules hold here too; `test_summary_columns.py`
holds one against the other. Told are the commits that nearly all are: a `commitInfo` as others
have it, and adds and removes of different files without deletion vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.inspect.commits._commit_summary import LONGEST_TEXT, read_predicate
from explorer.log.actions.columns import string_column, string_scalar
from explorer.log.actions.fields import FileAction
from explorer.log.actions.record_counts import record_counts
from explorer.log.commits.info_columns import InfoReader, InfoRows
from explorer.log.commits.line_columns import JoinedColumns, read_joined_columns
from explorer.log.plain_arrays import (
    EMPTY,
    FALSE,
    TRUE,
    ZERO,
    Flags,
    Numbers,
    build_array,
    read_flags,
    read_values,
)

# bytes or rows of one file: sums of 65,536 of them are numbers of 64 bits
_LARGEST: Final = 2**46
_MOST_FILES: Final = 2**16

_ACTIONS: Final[tuple[FileAction, ...]] = ("add", "remove")

_NO_TEXT: Final = string_scalar(None)
_DIGITS: Final = "^[0-9]{1,18}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRows:
    """Those of some commits that could be told, by their `places`, which are in no order.

    `columns` have a row for each of them, by the names of `CommitSummary`; what is not among them
    is None or false of all.
    """

    places: Numbers
    columns: Mapping[str, pa.ChunkedArray]


class SummaryReader:
    """Reads commits into columns, and knows the shapes of those before; for one thread."""

    def __init__(self) -> None:
        self._infos = InfoReader()

    def read(self, files: Sequence[bytes]) -> SummaryRows | None:
        """What some commits did, by their bytes; None where none can be told."""
        joined = read_joined_columns(files)
        figures = None if joined is None else _figures(joined, len(files))
        if joined is None or figures is None:
            return None
        numbers = np.array([number for number, _ in joined.others], np.int64)
        owners = joined.files_of(numbers)
        has_one = np.bincount(owners, minlength=len(files)) == 1
        wanted = (has_one & ~figures.is_left)[owners]
        lines = [
            line + b"\n" for (_, line), wants in zip(joined.others, wanted, strict=True) if wants
        ]
        places = owners[wanted]
        parts = [
            (there, _told(part, figures, there))
            for part in self._infos.read(lines)
            if len(there := places[part.rows])
        ]
        if not parts:
            return None
        return SummaryRows(
            places=np.concatenate([there for there, _ in parts]),
            columns={
                name: pa.chunked_array([told[name] for _, told in parts]) for name in parts[0][1]
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Files of each commit that one kind of action speaks of, with their bytes and rows, which
    are not known of some commits."""

    files: Numbers
    num_bytes: Numbers
    knows_no_bytes: Flags
    rows: Numbers
    knows_no_rows: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """The sums of some commits; those that are `is_left` are to be read line by line."""

    sums: Mapping[FileAction, _Sums]
    is_left: Flags

    def column(self, name: str, places: Numbers) -> pa.Array:
        """`files_added` and the like, of these commits."""
        what, _, side = name.partition("_")
        sums = self.sums["add" if side == "added" else "remove"]
        if what == "files":
            return build_array(sums.files[places])
        if what == "bytes":
            return build_array(sums.num_bytes[places], sums.knows_no_bytes[places])
        return build_array(sums.rows[places], sums.knows_no_rows[places])


def _figures(joined: JoinedColumns, size: int) -> _Figures | None:
    """None where a number is so large that a sum might be too large for columns."""
    is_left = np.zeros(size, np.bool_)
    sums: dict[FileAction, _Sums] = {}
    paths, owners = [], []
    for action in _ACTIONS:
        found = joined.files.get(action)
        if found is None:
            nothing, knows = np.zeros(size, np.int64), np.zeros(size, np.bool_)
            sums[action] = _Sums(
                files=nothing,
                num_bytes=nothing,
                knows_no_bytes=knows,
                rows=nothing,
                knows_no_rows=knows,
            )
            continue
        of = joined.files_of(joined.lines[action])
        if found.has_vectors:
            is_left[of[read_flags(found.rows.column("deletion_vector").is_valid())]] = True
        summed = _sum(found.rows, of, size)
        if summed is None:
            return None
        sums[action] = summed
        if action == "add":
            is_left |= summed.knows_no_bytes  # its line is told of as a problem
        is_left[of[_values(found.rows.column("size")) < 0]] = True
        paths.append(found.rows.column("path"))
        owners.append(of)
    if paths:
        is_left[_with_a_path_twice(pa.concat_arrays(paths), np.concatenate(owners))] = True
    return _Figures(sums=sums, is_left=is_left)


def _sum(files: pa.RecordBatch, of: Numbers, size: int) -> _Sums | None:
    sizes = files.column("size")
    counts = record_counts(pa.chunked_array([files.column("stats")]), None).combine_chunks()
    changes = read_flags(pc.fill_null(files.column("data_change"), TRUE))
    num_bytes, num_rows = _values(sizes), np.where(changes, _values(counts), 0)
    if len(of) > _MOST_FILES or max(num_bytes.max(), num_rows.max()) > _LARGEST:
        return None
    knows_no_bytes, knows_no_rows = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    knows_no_bytes[of[read_flags(sizes.is_null())]] = True
    knows_no_rows[of[changes & read_flags(counts.is_null())]] = True
    return _Sums(
        files=np.bincount(of, minlength=size),
        num_bytes=_added_up(of, num_bytes, size),
        knows_no_bytes=knows_no_bytes,
        rows=_added_up(of, num_rows, size),
        knows_no_rows=knows_no_rows,
    )


def _added_up(of: Numbers, values: Numbers, size: int) -> Numbers:
    # not weights of `bincount`, which are floating-point numbers
    total = np.zeros(size, np.int64)
    np.add.at(total, of, values)
    return total


def _values(numbers: pa.Array) -> Numbers:
    return read_values(pc.fill_null(numbers, ZERO))


def _with_a_path_twice(paths: pa.Array, of: Numbers) -> Numbers:
    """The commits that speak of one path more than once."""
    encoded = paths.dictionary_encode()
    pairs = of * len(encoded.dictionary) + read_values(encoded.indices)
    found, counts = np.unique(pairs, return_counts=True)
    return found[counts > 1] // max(len(encoded.dictionary), 1)


def _told(part: InfoRows, figures: _Figures, places: Numbers) -> dict[str, pa.Array]:
    """The columns of commits with one shape of `commitInfo`."""
    info = _Info(part)
    operation = info.text("operation")
    added = pc.coalesce(
        figures.column("rows_added", places), info.metric("numOutputRows", "num_added_rows")
    )
    removed = figures.column("rows_removed", places)
    deleted = info.metric("numDeletedRows", "num_deleted_rows")
    updated = info.metric("numUpdatedRows", "num_updated_rows")
    merged = [
        info.metric(f"numTargetRows{name}", f"num_target_rows_{name.lower()}")
        for name in ("Inserted", "Updated", "Deleted")
    ]
    nothing = build_array(np.zeros(len(places), np.int64))
    for name, plus, minus in (
        ("DELETE", nothing, deleted),
        ("UPDATE", updated, updated),
        ("MERGE", pc.add(merged[0], merged[1]), pc.add(merged[2], merged[1])),
    ):
        is_it = pc.fill_null(pc.equal(operation, string_scalar(name)), FALSE)
        counts = pc.and_(is_it, pc.and_(plus.is_valid(), minus.is_valid()))
        if name == "MERGE":
            counts = pc.and_(counts, merged[0].is_valid())
        added, removed = pc.if_else(counts, plus, added), pc.if_else(counts, minus, removed)
    return {
        "operation": operation,
        "user_name": pc.coalesce(info.text("userName"), info.text("userId")),
        "engine_info": pc.coalesce(info.text("engineInfo"), info.text("clientVersion")),
        "predicate": _predicates(info.parameter("predicate")),
        "message": pc.utf8_slice_codeunits(info.text("userMetadata"), 0, LONGEST_TEXT),
        "in_commit_timestamp": info.whole("inCommitTimestamp"),
        **{
            name: figures.column(name, places)
            for name in ("files_added", "files_removed", "bytes_added", "bytes_removed")
        },
        "rows_added": added,
        "rows_removed": removed,
        "deletion_vectors_added": nothing,
    }


class _Info:
    """The fields of `commitInfo` of commits with one shape, as `_commit_summary` reads them."""

    def __init__(self, part: InfoRows) -> None:
        self._fields = part.fields
        self._size = len(part.rows)

    def text(self, name: str) -> pa.Array:
        """Texts that are not empty."""
        return self._text(self._fields.get(name))

    def whole(self, name: str) -> pa.Array:
        """Numbers that are not negative."""
        return self._whole(self._fields.get(name))

    def parameter(self, name: str) -> pa.Array:
        """A parameter of the operation that is a text."""
        return self._text(self._inside("operationParameters", name))

    def metric(self, *names: str) -> pa.Array:
        """The first of these metrics that is a number or its digits."""
        found = (self._inside("operationMetrics", name) for name in names)
        return pc.coalesce(*(self._whole(column) for column in found))

    def _inside(self, field: str, name: str) -> pa.Array | None:
        there = self._fields.get(field)
        at = -1 if there is None else there.type.get_field_index(name)
        return None if there is None or at < 0 else there.flatten()[at]

    def _text(self, values: pa.Array | None) -> pa.Array:
        if values is None or values.type != pa.string():
            return pa.nulls(self._size, pa.string())
        return pc.if_else(pc.equal(values, EMPTY), _NO_TEXT, values)

    def _whole(self, values: pa.Array | None) -> pa.Array:
        if values is not None and values.type == pa.string():
            are_digits = pc.match_substring_regex(values, _DIGITS)
            values = pc.cast(pc.if_else(are_digits, values, _NO_TEXT), pa.int64())
        if values is None or values.type != pa.int64():
            return pa.nulls(self._size, pa.int64())
        return pc.if_else(pc.less(values, ZERO), pa.nulls(self._size, pa.int64()), values)


def _predicates(texts: pa.Array) -> pa.Array:
    """Those of many commits are alike."""
    encoded = texts.dictionary_encode()
    conditions = [read_predicate(text) for text in encoded.dictionary.to_pylist()]
    return string_column(conditions).take(encoded.indices)
