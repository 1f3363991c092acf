"""Which merges are carried out in this process: those of few rows that are partners where columns
are equal, and whose clauses take all of their rows, with all columns or away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

import pyarrow as pa

from explorer.pipeline.merging._candidates import find_files
from explorer.pipeline.merging._local_merge import LocalMerge
from explorer.pipeline.merging._partners import facts_of, find_partners
from explorer.pipeline.merging._spans import MergeSpans
from explorer.pipeline.removing.workplace import MOST_BYTES
from explorer.pipeline.writing.given_data import ArrowRows
from explorer.progress import Watch
from explorer.protocol.arrow_types import arrow_schema
from explorer.protocol.schema import VARIANT, StructField, StructType
from explorer.protocol.schema_walk import render_path, walk_types
from explorer.table.frames import believed_sizes
from explorer.writing.gate.arrow_gate import one_batch
from explorer.writing.gate.plan import GatePlan
from explorer.writing.gate.planning import plan_gate
from explorer.writing.gate.sent_rows import SentRows
from explorer.writing.merging.keys import (
    MatchConditions,
    asked_pairs,
    can_ask,
    partner_condition,
    read_conditions,
)
from explorer.writing.merging.resolving import ResolvedClause, ResolvedMerge, SourceColumn
from explorer.writing.statements.change_statement import ChangeStatement

_READING: Final = "Reading the source"

_MOST_BYTES: Final = 64 * 2**20
"""Of a source that is merged in this process where nobody says where: all of it is in memory, and
its keys as objects of Python."""


@dataclass(kw_only=True)
class FewRows:
    """The rows of a source in this process; `has_to_fit` says that more than `_MOST_BYTES` go to
    Spark. They are gone through once: `given` are the rows for whoever goes on with them."""

    given: ArrowRows
    has_to_fit: bool
    whole: pa.RecordBatch | None = None

    def read(self) -> pa.RecordBatch | None:
        """All rows, with Delta's own types; None where they are too many."""
        if self.whole is not None:
            return self.whole
        schema = arrow_schema(self.given.schema)
        batches: list[pa.RecordBatch] = []
        size = 0
        every = self.given.batches()
        for batch in every:
            batches.append(batch)
            size += batch.nbytes
            if size > _MOST_BYTES and self.has_to_fit:
                self.given = replace(self.given, batches=lambda: chain(batches, every))
                return None
        self.given = replace(self.given, batches=lambda: iter(batches))
        sent = SentRows(given=self.given.schema, sent=self.given.schema)
        parts = [part for batch in batches for part in sent.conform(batch)]
        table = pa.Table.from_batches(parts, schema)
        self.whole = one_batch(table)
        return self.whole


def choose_local(
    statement: ChangeStatement, merge: ResolvedMerge, rows: FewRows, watch: Watch, spans: MergeSpans
) -> LocalMerge | str:
    """The merge in this process, or why it is Spark's. Raises what `plan_gate` raises."""
    conditions = read_conditions(merge.on, merge.names)
    plans = local_plans(statement, merge, conditions)
    if isinstance(plans, str):
        return plans
    watch.step(0, None, _READING)
    with spans.reading_source():
        source = rows.read()
    if source is None:
        return f"The source has more than {_MOST_BYTES:,} bytes."
    snapshot, where = statement.snapshot, None
    if not merge.request.of("not matched by source"):
        listed = frozenset(snapshot.metadata.partition_columns)
        facts = facts_of(source, asked_pairs(conditions, merge.names), listed)
        where = partner_condition(conditions, facts, merge.names.target)
        where = where if source.num_rows else "FALSE"
    candidates = find_files(snapshot, where, watch)
    size = int(believed_sizes(candidates.files).sum())
    if rows.has_to_fit and size > MOST_BYTES:
        return f"Rows are looked for in {size:,} bytes."
    return LocalMerge(
        statement=statement,
        merge=merge,
        source=source,
        partners=find_partners(source, conditions.pairs),
        candidates=candidates,
        plans=plans,
        watch=watch,
        spans=spans,
    )


def local_plans(
    statement: ChangeStatement, merge: ResolvedMerge, conditions: MatchConditions
) -> Mapping[int, GatePlan] | str:
    """The gates of the clauses that write rows, by their numbers, where this process can carry the
    merge out; else why it is Spark's. Raises what `plan_gate` raises."""
    if (why := next(_reasons(merge, conditions), None)) is not None:
        return why
    plans = {
        number: plan_gate(
            statement.protocol,
            statement.metadata,
            _given(item, merge),
            statement_time=merge.names.time.moment,
            kept=item.columns.keys() if item.clause.action == "update" else (),
        )
        for number, item in enumerate(merge.clauses)
        if item.clause.action != "delete"
    }
    asked = (plan.needs_spark for plan in plans.values() if plan.needs_spark is not None)
    return next(asked, plans)


def _reasons(merge: ResolvedMerge, conditions: MatchConditions) -> Iterator[str]:
    """Why only Spark can carry a merge out, as far as that does not depend on the gate of rows."""
    if not conditions.only_pairs:
        yield f"The condition {merge.request.on[:120]!r} is more than equal columns."
    for pair in conditions.pairs:
        if not can_ask(pair):
            yield f"The columns `{render_path(pair.target.path)[:120]}` compare as Spark does."
    for item in merge.clauses:
        if item.clause.where is not None:
            yield f"{item.clause.words} has the condition {item.clause.where[:120]!r}."
        if item.clause.values is not None:
            yield f"{item.clause.words} sets single columns."
    before = {item.name: item.data_type for item in merge.names.target.fields}
    for field in merge.schema.fields:
        if before.get(field.name, field.data_type) != field.data_type:
            yield f"The type of `{field.name[:120]}` changes."
    if VARIANT in set(walk_types(merge.schema)):
        yield "The table has variants."


def _given(item: ResolvedClause, merge: ResolvedMerge) -> StructType:
    """What a clause gives to the gate, each column under the table's name."""
    kinds = {field.name: field.data_type for field in merge.schema.fields}
    fields = (
        StructField(
            name=name,
            data_type=assigned.data_type if isinstance(assigned, SourceColumn) else kinds[name],
        )
        for name, assigned in item.columns.items()
    )
    return StructType(fields=tuple(fields))
