"""What a restore does to rows and columns, as far as the log and its deletion vectors tell
(spec: Per-file Statistics, Deletion Vectors).

Whole files that leave or return count with their live rows. A file that both versions have,
with other vectors, counts with the rows that only one of the two hides. Where rows leave and
others return, those that were written again in between stand on both sides, as those of an UPDATE
that hid them and wrote them into another file: then the counts are upper bounds, unless the
commits in between say that they changed no data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison.routes import logged_actions
from explorer.comparison.schema_changes import schema_changes
from explorer.errors import CorruptLogError, DeltaError
from explorer.log.actions.record_counts import record_counts
from explorer.log.reconcile.key_columns import keys_of
from explorer.maintenance.plan.plan import Verdict
from explorer.progress import Watch
from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.rows.data_file.deletion_vectors import read_deletion_vectors
from explorer.storage.ports import ReadStore
from explorer.table.counts import count
from explorer.table.frames import sum_of
from explorer.table.row_counts import count_deleted, count_live
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

MOST_VECTORS: Final = 10_000
"""Pairs of vectors that are read to be compared."""

_AT_A_TIME: Final = 256
_SHOWN: Final = 20
_LONGEST_NAME: Final = 160
"""Room for both names of a column."""

_NAMED: Final = 5
"""Commits that are undone and named."""

_LABEL: Final = "Counting the rows that leave and return"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEffect:
    """Rows that the newest version loses and gets back; None where that is not known, and
    `why_unknown` then says why. `at_most` says that both are upper bounds."""

    removed: int | None
    returned: int | None
    at_most: bool = False
    why_unknown: str = ""

    @property
    def sentence(self) -> str:
        """What happens to rows."""
        if self.removed is None or self.returned is None:
            known = []
            if self.removed is not None:
                known.append(f"{_rows(self.removed)} removed.")
            if self.returned is not None:
                known.append(f"{count(self.returned, 'row')} {_verb(self.returned)}.")
            lost = " and ".join(
                word
                for word, number in (("are removed", self.removed), ("return", self.returned))
                if number is None
            )
            return " ".join([*known, f"How many rows {lost} is not known: {self.why_unknown}"])
        both = f"{_rows(self.removed)} removed and {self.returned:,} {_verb(self.returned)}"
        if self.removed and self.returned:
            both += f", {_difference(self.returned - self.removed)}"
        if not self.at_most:
            return f"{both}."
        return f"At most {both}: rows that were written again in between count on both sides."


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEffect:
    """Columns, and fields inside them, that the newest schema loses, gets back, and gets with
    another name or type, by their path then: of these `renamed` have another name, now and then,
    and `retyped` another type. `why_unknown` where a schema cannot be read."""

    removed: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    retyped: tuple[str, ...] = ()
    why_unknown: str = ""

    @property
    def sentence(self) -> str:
        """What happens to columns; empty where nothing does."""
        if self.why_unknown:
            return f"Which columns are removed or return is not known: {self.why_unknown}"
        parts = [
            f"{_names(names)} {verb if len(names) == 1 else verbs}"
            for names, verb, verbs in (
                (self.removed, "is removed", "are removed"),
                (self.returned, "returns", "return"),
                (self.retyped, "has its former type again", "have their former types again"),
            )
            if names
        ]
        if self.renamed:
            pairs = _names(
                [f"{now[:60]} is called {then[:60]} again" for now, then in self.renamed]
            )
            parts.append(pairs)
        return f"Columns: {'; '.join(parts)}." if parts else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreEffect:
    """What a restore does to rows and columns."""

    rows: RowEffect
    columns: ColumnEffect

    @property
    def sentence(self) -> str:
        """Rows first, then columns."""
        return f"{self.rows.sentence} {self.columns.sentence}".rstrip()

    @property
    def effect(self) -> dict[str, Any]:
        """The numbers as plain data, for the plan's document."""
        return {
            "rows_removed": self.rows.removed,
            "rows_returned": self.rows.returned,
            "rows_at_most": self.rows.at_most,
            "rows_unknown": self.rows.why_unknown or None,
            "columns_removed": list(self.columns.removed),
            "columns_returned": list(self.columns.returned),
            "columns_changed": list(self.columns.changed),
            "columns_unknown": self.columns.why_unknown or None,
        }


def find_row_effect(
    newest: Snapshot, target: Snapshot, files: Differing, watch: Watch
) -> RowEffect:
    """How many rows a restore removes and returns in the files that differ."""
    watch.step(0, None, _LABEL)
    back_pair, gone_pair = files.pairs
    whole_back, whole_gone = files.whole
    removed, returned = count_live(whole_gone), count_live(whole_back)
    try:
        hidden, shown = _compare_vectors(newest.store, gone_pair, back_pair, watch)
    except (_UnknownError, DeltaError) as error:
        if isinstance(error, DeltaError) and error.kind == "cancelled":
            raise
        why = error.problem if isinstance(error, DeltaError) else str(error)
        return RowEffect(removed=None, returned=None, why_unknown=why)
    if removed is None or returned is None:
        unknown = [part for part in (whole_gone, whole_back) if count_live(part) is None]
        return RowEffect(
            removed=None if removed is None else removed + hidden,
            returned=None if returned is None else returned + shown,
            why_unknown=_why_uncounted(pa.concat_tables(unknown)),
        )
    both = whole_back.num_rows and whole_gone.num_rows
    if both and removed == returned and _only_rearranged(target, newest, watch):
        removed = returned = 0
    # vectors of the same files alone tell of rows that were never written again
    has_whole = bool(removed or returned)
    removed, returned = removed + hidden, returned + shown
    at_most = has_whole and removed > 0 and returned > 0
    return RowEffect(removed=removed, returned=returned, at_most=at_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """Files that come back and files that leave, with `path`, `deletion_vector` and
    `num_records`; a path that is on both sides is one file with two vectors."""

    back: pa.Table
    gone: pa.Table

    @property
    def whole(self) -> tuple[pa.Table, pa.Table]:
        """Those that only one version has, of both sides."""
        return (
            self.back.filter(pc.invert(_among(self.back, self.gone))),
            self.gone.filter(pc.invert(_among(self.gone, self.back))),
        )

    @property
    def pairs(self) -> tuple[pa.Table, pa.Table]:
        """Those that both have, row by row."""
        back = self.back.filter(_among(self.back, self.gone)).sort_by("path")
        gone = self.gone.filter(_among(self.gone, self.back)).sort_by("path")
        return back, gone


def differing(back: pa.Table, gone: pa.Table) -> Differing:
    """Of `back`, with every column of an add, and `gone`, with `num_records`."""
    counts = record_counts(back.column("stats"), None)
    own = ["path", "deletion_vector"]
    return Differing(
        back=back.select(own).append_column("num_records", counts),
        gone=gone.select([*own, "num_records"]),
    )


def find_column_effect(newest: Snapshot, target: Snapshot) -> ColumnEffect:
    """What becomes of columns and the fields inside them."""
    try:
        # as they were made: which columns are the same ones depends on what came first
        changes = schema_changes(target, newest)
    except CorruptLogError as error:
        return ColumnEffect(why_unknown=error.problem)

    def named(*kinds: str) -> tuple[str, ...]:
        found = (change.path_before or change.path for change in changes if change.kind in kinds)
        return tuple(dict.fromkeys(found))

    renamed = {
        (change.path, change.path_before): None
        for change in changes
        if change.kind == "renamed" and change.path_before
    }
    return ColumnEffect(
        removed=named("added"),
        returned=named("dropped"),
        changed=named("renamed", "widened", "type"),
        renamed=tuple(renamed),
        retyped=named("widened", "type"),
    )


def judge_rows(moves: RowEffect, newest: int) -> Verdict:
    """Whether the name is to be typed: where rows leave, and where that is unknown."""
    if moves.removed == 0:
        return Verdict(guard="rows", outcome="allow", message="No row is removed.")
    known = "An unknown number of rows"
    if moves.removed is not None:
        known = f"{'At most ' if moves.at_most else ''}{count(moves.removed, 'row')}"
    return Verdict(
        guard="rows",
        outcome="warn",
        message=f"{known} of version {newest} will no longer be in the table.",
        remedy="",  # the summary says how long the way back is open
        asks_for_name=True,
    )


def judge_undone(table: Table, target: int, newest: int) -> Verdict:
    """Which commits are taken back: all after the version, whoever made them."""
    number = newest - target
    if number <= 0:
        return Verdict(guard="commits", outcome="allow", message="No commit is undone.")
    shown = table.history(limit=min(number, _NAMED)).select(["version", "operation", "user_name"])
    # who commits meanwhile is not part of the plan, which is refused then
    between = [row for row in shown.to_pylist() if target < row["version"] <= newest]
    named = [_commit_words(**row) for row in between]
    more = number - len(named)
    words = "; ".join([*named, *([f"{more} more"] if more and named else [])])
    return Verdict(
        guard="commits",
        outcome="allow" if number == 1 else "warn",
        message=f"Undoes {count(number, 'commit')}{f': {words}' if words else ''}.",
        remedy=""
        if number == 1
        else "A restore undoes all of them. To undo only one, write back what it changed instead.",
    )


def _commit_words(version: int, operation: str | None, user_name: str | None) -> str:
    by = f" by {user_name[:60]}" if user_name else ""
    return f"version {version}, {(operation or 'an operation that it does not name')[:60]}{by}"


class _UnknownError(Exception):
    """Why rows cannot be counted."""


def _among(files: pa.Table, others: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(files.column("path"), value_set=others.column("path"))


def _why_uncounted(files: pa.Table) -> str:
    unknown = files.column("num_records").null_count
    if not unknown:
        _, wrong = count_deleted(files)
        return "deletion vectors cannot be right." if wrong is None else wrong.problem
    (first,) = files.filter(files.column("num_records").is_null()).slice(0, 1).to_pylist()
    do = "does" if unknown == 1 else "do"
    return (
        f"{count(unknown, 'file')} {do} not say how many rows there are, such as "
        f"{first['path'][:200]!r}."
    )


def _compare_vectors(
    store: ReadStore, gone: pa.Table, back: pa.Table, watch: Watch
) -> tuple[int, int]:
    """How many rows that `gone` shows `back` hides, and the other way round."""
    if gone.num_rows != back.num_rows or pc.count_distinct(gone.column("path")).as_py() != len(
        gone
    ):
        raise _UnknownError("the log holds a file several times.")
    now, then = gone.column("deletion_vector"), back.column("deletion_vector")
    hidden = shown = 0
    for vectors, others in ((then, now), (now, then)):
        alone = vectors.filter(others.is_null())
        numbers = pc.struct_field(alone, "cardinality")
        if alone.null_count or numbers.null_count:
            raise _UnknownError("a deletion vector does not say how many rows it hides.")
        if vectors is then:
            hidden += sum_of(numbers)
        else:
            shown += sum_of(numbers)
    both = pc.and_(now.is_valid(), then.is_valid())
    if (number := sum_of(both.cast(pa.int64()))) > MOST_VECTORS:
        have = "has another deletion vector" if number == 1 else "have other deletion vectors"
        raise _UnknownError(f"{count(number, 'file')} {have}, too many to compare.")
    held, wanted = now.filter(both).to_pylist(), then.filter(both).to_pylist()
    for start in range(0, number, _AT_A_TIME):
        watch.step(start, number, _LABEL)
        part = slice(start, start + _AT_A_TIME)
        olds = read_deletion_vectors(store, list(_descriptors(wanted[part])))
        news = read_deletion_vectors(store, list(_descriptors(held[part])))
        for old, new in zip(olds, news, strict=True):
            hidden += len(old - new)
            shown += len(new - old)
    return hidden, shown


def _descriptors(bodies: list[dict[str, Any]]) -> Iterator[DeletionVectorDescriptor]:
    for body in bodies:
        if any(value is None for name, value in body.items() if name != "offset"):
            raise _UnknownError("a deletion vector's descriptor is incomplete.")
        yield DeletionVectorDescriptor(**body)


def _only_rearranged(target: Snapshot, newest: Snapshot, watch: Watch) -> bool:
    """Whether the commits in between say that they changed no data, and removed only files
    that the version had: then every row is still there, in other files."""
    logged = logged_actions(target, newest, watch)
    if logged is None:
        return False
    for actions in (logged.adds, logged.removes):
        changes = actions.column("data_change")
        if changes.null_count or pc.any(changes).as_py():
            return False
    removed = keys_of(logged.removes)
    had = keys_of(target.physical_files("add", ["path", "deletion_vector"]))
    return not len(removed) or bool(pc.all(pc.is_in(removed, value_set=had)).as_py())


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(name[:_LONGEST_NAME] for name in names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def _rows(number: int) -> str:
    return f"{count(number, 'row')} {'is' if number == 1 else 'are'}"


def _verb(number: int) -> str:
    return "returns" if number == 1 else "return"


def _difference(net: int) -> str:
    if not net:
        return "so the number of rows stays the same"
    return f"{abs(net):,} {'more' if net > 0 else 'fewer'} in all"
