"""A merge upon one version, on Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.pipeline.changing.beginning import check_removable
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.merging._candidates import find_files
from explorer.pipeline.merging._choice import FewRows, local_plans
from explorer.pipeline.merging._local_merge import LocalMerge
from explorer.pipeline.merging._merge_tasks import FOUND_PAIRS, FoundRows, join_pairs, pack_pairs
from explorer.pipeline.merging._new_rows import NewRows, Written
from explorer.pipeline.merging._pairs import (
    CLAUSE,
    INDEX,
    PATH,
    Pairs,
    matched_twice,
    number_unpaired,
    pair_rows,
)
from explorer.pipeline.merging._partners import find_partners
from explorer.pipeline.merging._source import SparkSource, value_of
from explorer.pipeline.merging._spans import MergeSpans
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.native.rows import KeyRows
from explorer.pipeline.reading.reading import plan_read
from explorer.pipeline.removing.attempts import leaving_nothing, remove_other_attempts
from explorer.pipeline.removing.finding import count_rows
from explorer.pipeline.removing.leaving import Leaving, check_updated, find_leaving, let_leave
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.tasks.mapped_batches import map_batches
from explorer.progress import Watch
from explorer.protocol.schema import VARIANT, VOID, StructType
from explorer.protocol.schema_walk import walk_types
from explorer.rows.stored_rows import keeps_row_ids
from explorer.table.frames import believed_sizes
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import WHOLE_TABLE, ReadSet
from explorer.writing.changes.candidates import Candidates
from explorer.writing.changes.changed_rows import (
    ROW_ID,
    TOLD_CHANGES,
    change_form,
    split_told,
)
from explorer.writing.changes.found_rows import FOUND, found_table
from explorer.writing.changes.row_changes import has_feed
from explorer.writing.merging.keys import (
    MatchConditions,
    asked_pairs,
    partner_condition,
    read_conditions,
)
from explorer.writing.merging.resolving import ResolvedMerge
from explorer.writing.merging.told import merge_metrics, merge_needs_change_data
from explorer.writing.statements.change_statement import ChangeStatement
from explorer.writing.statements.options import WriteResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MATCHING: Final = "Matching rows"

_FEW_BYTES: Final = 64 * 2**20
"""Of files in which a source that is small has its partners: to look through them in this process
takes less time than to plan the jobs of a merge."""


@dataclass(frozen=True, kw_only=True)
class SparkMerge:
    """A merge that is ready: `statement` is made for what the table is to become. `reads_target`
    says that the source came from this very table, `may_work_here` that few rows may be merged in
    this process."""

    statement: ChangeStatement
    merge: ResolvedMerge
    source: SparkSource
    reads_target: bool
    may_work_here: bool
    watch: Watch
    spans: MergeSpans = field(default_factory=MergeSpans)

    def run(self) -> WriteResult | Conflict:
        """Merge; raises what the gate raises for a row, and `InvalidArgumentError` of kind
        `rows_refused` for a row of the table that several of the source would change."""
        statement, merge, source = self.statement, self.merge, self.source
        place = Workplace(store=statement.target.store, session=source.session, watch=self.watch)
        conditions = read_conditions(merge.on, merge.names)
        where = self._partner_condition(conditions)
        candidates = find_files(statement.snapshot, where, self.watch)
        if (few := self._few_rows(candidates, conditions)) is not None:
            return few.run()
        with leaving_nothing(statement, place):
            if not merge.request.is_insert_only:
                check_removable(statement, candidates)
            statement = statement.reading(self._reads(candidates))
            with self._pairs(candidates, where, conditions) as pairs:
                found = self._find(pairs)
                self.spans.scan_ended()
                leaving = find_leaving(candidates, self._found(candidates, found))
                written = self._write(statement, pairs, leaving, found)
            for number, item in enumerate(merge.clauses):
                if item.clause.action == "update":
                    check_updated(found.counts.get(number, 0), written.counts.get(number, 0))
            changes = let_leave(statement, place, leaving)
            files, feed = split_told(place.retries.hear(written.told).select(TOLD_CHANGES.names))
            changes = replace(changes, written=files, feed=feed)
            problems = remove_other_attempts(statement, place, changes)
        counts = {**written.counts, **found.counts}
        metrics = merge_metrics(
            merge.request, changes, source_rows=source.num_rows, by_clause=counts
        )
        return statement.commit(
            changes,
            {**metrics, **self.spans.metrics()},
            validated=written.validated,
            marks=written.marks,
            problems=problems,
            watch=self.watch,
        )

    def _partner_condition(self, conditions: MatchConditions) -> str | None:
        """What every row of the table meets that a clause may take, as far as that is known."""
        merge = self.merge
        if merge.request.of("not matched by source"):
            return None
        if not self.source.num_rows:
            return "FALSE"
        listed = frozenset(self.statement.snapshot.metadata.partition_columns)
        pairs = asked_pairs(conditions, merge.names)
        facts = self.source.facts(pairs, listed, self.watch)
        return partner_condition(conditions, facts, merge.names.target)

    def _few_rows(self, candidates: Candidates, conditions: MatchConditions) -> LocalMerge | None:
        """The merge in this process, where it can be carried out here and its rows are few."""
        statement, merge, source = self.statement, self.merge, self.source
        if not self.may_work_here or self.reads_target or not source.is_collectable:
            return None
        if int(believed_sizes(candidates.files).sum()) > _FEW_BYTES:
            return None
        plans = local_plans(statement, merge, conditions)
        if isinstance(plans, str):
            return None
        with self.spans.reading_source():
            rows = FewRows(given=source.collect(self.watch), has_to_fit=False).read()
        assert rows is not None
        return LocalMerge(
            statement=statement,
            merge=merge,
            source=rows,
            partners=find_partners(rows, conditions.pairs),
            candidates=candidates,
            plans=plans,
            watch=self.watch,
            spans=self.spans,
        )

    def _reads(self, candidates: Candidates) -> ReadSet:
        return WHOLE_TABLE if self.reads_target else candidates.reads()

    @contextlib.contextmanager
    def _pairs(
        self, candidates: Candidates, where: str | None, conditions: MatchConditions
    ) -> Iterator[Pairs]:
        """The pairs, which Spark keeps while inside, for they are asked for several times. What it
        forgets it finds again: the table's files and the source's rows stay the same."""
        with watched(self.source.session, self.watch, _MATCHING):
            target = self._target(candidates, where, self._keys(conditions))
            pairs = pair_rows(self.merge, target, self.source)
            if self.merge.request.is_insert_only:
                yield pairs
                return
            kept = pairs.frame.persist()
        try:
            yield replace(pairs, frame=kept)
        finally:
            with contextlib.suppress(Exception):  # the session may have been stopped
                kept.unpersist()

    def _keys(self, conditions: MatchConditions) -> KeyRows | None:
        """By what rows of the table are looked up before anything else is asked of them; None where
        rows without a partner count too, or the source is too large to be held whole."""
        merge, source = self.merge, self.source
        if merge.request.of("not matched by source") or not source.is_small:
            return None
        pairs = [
            pair
            for pair in asked_pairs(conditions, merge.names)
            if len(pair.target.path) == 1 and pair.target.data_type == pair.source.data_type
        ]
        if not pairs:
            return None
        keys = [value_of(pair).alias(f"delta_explorer.key_{at}") for at, pair in enumerate(pairs)]
        return KeyRows(
            columns=tuple(pair.target.path[0] for pair in pairs), frame=source.frame.select(*keys)
        )

    def _target(self, candidates: Candidates, where: str | None, keys: KeyRows | None) -> DataFrame:
        """The rows of the candidates, with `PATH`, `INDEX` and where ids are kept `ROW_ID`."""
        snapshot, names = self.statement.snapshot, self._columns()
        extra = {PATH: "_file_path", INDEX: "_row_index"}
        if keeps_row_ids(snapshot.protocol, snapshot.metadata):
            extra[ROW_ID] = "_row_id"
        frame = plan_read(
            snapshot,
            self.source.session,
            columns=names,
            where=where,
            metadata_columns=tuple(extra.values()),
            among=candidates.files.column("path"),
        ).frame(keys)
        return frame.toDF(*names, *extra)

    def _columns(self) -> tuple[str, ...]:
        """The columns of the table that are read: all where a row is written again."""
        snapshot, merge = self.statement.snapshot, self.merge
        spoken = merge.spoken_columns()
        changes = not merge.request.is_insert_only
        rewrites = any(item.clause.action == "update" for item in merge.clauses)
        if rewrites or (changes and has_feed(snapshot.protocol, snapshot.metadata)):
            spoken = None
        names = [
            item.name
            for item in snapshot.schema.fields
            if item.data_type != VOID and (spoken is None or item.name in spoken)
        ]
        chosen = StructType(
            fields=tuple(item for item in snapshot.schema.fields if item.name in names)
        )
        if VARIANT in set(walk_types(chosen)):
            raise UnsupportedError(
                "Rows with variants are not changed by a merge.",
                reason="Spark cannot be handed a stored variant as it is, so that rows that are "
                "updated, or recorded by the change data feed, could not keep theirs.",
                remedy="Merge with clauses that only insert, or only delete, without the feed; or "
                "use the engine that made the table.",
                spec="Variant Data Type",
            )
        return tuple(names)

    def _find(self, pairs: Pairs) -> FoundRows:
        """The rows of the table that clauses take."""
        from pyspark.sql import functions as fn

        if self.merge.request.is_insert_only:
            return join_pairs(FOUND_PAIRS.empty_table())
        with watched(self.source.session, self.watch, _MATCHING):
            taken = pairs.frame.filter(fn.col(quoted(CLAUSE)).isNotNull())
            asked = taken.select(*map(quoted, (PATH, INDEX, CLAUSE)))
            found = join_pairs(
                map_batches(asked, pack_pairs, FOUND_PAIRS).toArrow().cast(FOUND_PAIRS)
            )
            if found.has_several and not self.merge.request.takes_any_match:
                raise matched_twice(pairs)
        return found

    def _found(self, candidates: Candidates, found: FoundRows) -> pa.Table:
        if not found.positions:
            return FOUND.empty_table()
        paths = pa.chunked_array([pa.array(list(found.positions), pa.string())])
        counts = count_rows(self.statement.snapshot, candidates.asked, paths)
        return found_table(
            [(path, positions, *counts[path]) for path, positions in found.positions.items()]
        )

    def _write(
        self, statement: ChangeStatement, pairs: Pairs, leaving: Leaving, found: FoundRows
    ) -> Written:
        """The rows that are new in files, and change data."""
        merge, source = self.merge, self.source
        updated = sum(
            count
            for number, count in found.counts.items()
            if merge.clauses[number].clause.action == "update"
        )
        gone = sum(found.counts.values()) - updated
        inserts = bool(merge.request.of("not matched")) and source.num_rows > 0
        with_feed = merge_needs_change_data(
            statement.protocol,
            statement.metadata,
            merge.request,
            taken=found.counts,
            inserts=inserts,
            copies=leaving.copies,
        )
        if not (updated or inserts or (gone and with_feed)):
            told = pa.Table.from_batches([], TOLD_CHANGES)
            return Written(told=told, counts={}, marks={}, validated=None)
        form = change_form(
            statement.protocol,
            statement.metadata,
            with_feed=with_feed,
            target_bytes=statement.target_bytes,
        )
        rows = NewRows(
            statement=statement,
            merge=merge,
            pairs=pairs,
            unpaired=number_unpaired(merge, pairs, source) if inserts else None,
            form=form,
            num_rows=sum(found.counts.values()) + (source.num_rows if inserts else 0),
            repeats=found.has_several,
        )
        return rows.write(self.watch)
