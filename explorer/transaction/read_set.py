"""What the outcome of a transaction depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.store_paths import place_keys
from explorer.log.actions.columns import bool_column, string_column
from explorer.log.reconcile.key_columns import keys_of
from explorer.log.state.file_columns import FileColumns
from explorer.progress import UNWATCHED, Watch
from explorer.scan.facts import Question, answer, question_of
from explorer.scan.plan import plan_scan
from explorer.scan.possibility import may_be_true
from explorer.scan.predicate.parse import parse_predicate
from explorer.scan.predicate.predicate import Predicate

if TYPE_CHECKING:
    from explorer.table.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPredicate:
    """A condition by which rows were chosen, with the columns that it asks about as the
    version that was read names them."""

    predicate: Predicate
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """What was read, and so must not have changed when the commit is made.

    - nothing at all for an append, or a rewrite of the very files that it removes
    - `whole_table`: any row that was added or removed could have changed the outcome
    - `paths`: files whose rows were read, as in the log
    - `predicates`: rows were looked for by these; a file that may hold a match matters.
      With `paths`, those are the files that were found by them
    - `application_ids`: the progress of these applications was asked for
    - `metadata`: whether schema, properties and protocol matter; False for a commit that
      means the same whatever they are, as VACUUM END does
    """

    whole_table: bool = False
    paths: pa.ChunkedArray | None = field(default=None, compare=False)
    predicates: tuple[ReadPredicate, ...] = ()
    application_ids: frozenset[str] = frozenset()
    metadata: bool = True

    @property
    def reads_rows(self) -> bool:
        """Whether it depends on any row."""
        return self.whole_table or bool(self.predicates) or bool(self.paths)


NOTHING = ReadSet()
"""Depends on no row, but on schema, properties and protocol."""

WHOLE_TABLE = ReadSet(whole_table=True)
"""Depends on every row."""


def read_set_of(paths: Iterable[str] | pa.ChunkedArray) -> ReadSet:
    """Depends on the rows of these files, and on no others."""
    if not isinstance(paths, pa.ChunkedArray):
        paths = pa.chunked_array([string_column(list(paths))])
    return ReadSet(paths=paths)


def read_set_where(snapshot: Snapshot, where: str, watch: Watch = UNWATCHED) -> ReadSet:
    """Depends on the rows of `snapshot` that match a SQL predicate: on the files that may
    hold one now, and on any that comes and may hold one.

    Raises `InvalidArgumentError` for a predicate that cannot be understood.
    """
    predicate = parse_predicate(where, snapshot.schema)
    plan = plan_scan(snapshot, predicate, progress=watch.progress, cancel=watch.cancel)
    question = question_of(predicate, snapshot)
    return ReadSet(
        paths=plan.kept.column("path"),
        predicates=(ReadPredicate(predicate=predicate, question=question),),
    )


def may_match(read: ReadPredicate, files: pa.Table) -> pa.ChunkedArray:
    """Which files may hold a row that the predicate is true for, going by their partition
    values and statistics alone (`partition_values` and `stats` of `files`)."""
    count = files.num_rows
    if not count:
        return pa.chunked_array([], pa.bool_())
    known = answer(read.question, FileColumns(table=files.combine_chunks(), leaves={}))
    found = may_be_true(read.predicate.condition, known.ranges, count)
    if read.question.partitions:  # a remove need not say them
        found = pc.or_(found, files.column("partition_values").combine_chunks().is_null())
    return pa.chunked_array([found])


def path_keys(files: pa.Table, root: str | None) -> pa.ChunkedArray:
    """The paths in the form in which they are compared, as `place_keys` has them; vectors do
    not count: two that change the vector of one file are in each other's way."""
    return place_keys(files.column("path"), root)


def logical_keys(files: pa.Table, root: str | None) -> pa.ChunkedArray:
    """Path and vector, the key of a logical file (spec: Action Reconciliation)."""
    names = files.select(["path", "deletion_vector"])
    return keys_of(names.set_column(0, "path", path_keys(files, root)))


def among(files: pa.Table, keys: pa.ChunkedArray, root: str | None) -> pa.Table:
    """Those files whose path is one of `keys`."""
    if not (files.num_rows and len(keys)):
        return files.slice(0, 0)
    paths = path_keys(files, root)
    if len(paths) < len(keys):  # a table is made of what is looked for: of the few
        keys = keys.filter(pc.is_in(keys, value_set=paths))
    return files.filter(pc.is_in(paths, value_set=keys))


def any_of(masks: Iterable[pa.ChunkedArray], count: int) -> pa.ChunkedArray:
    """Where one of the masks is true."""
    found = pa.chunked_array([bool_column([False] * count)])
    for mask in masks:
        found = pc.or_(found, mask)
    return found
