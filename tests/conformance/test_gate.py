"""The rows of each real table through the gate of rows of the very table: it takes them as they
are, and holds them to every rule that the table has."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import explorer
from explorer.errors import DeltaError
from explorer.protocol.schema_walk import walk_types
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.row_rules import rules_for_rows
from explorer.writing.gate.arrow_gate import ArrowGate
from explorer.writing.gate.planning import plan_gate
from tests.row_values import counted_rows

_TIME = datetime(2026, 11, 26, tzinfo=UTC)
_MANY = 20_000


def test_the_gate_of_each_table_takes_its_own_rows_as_they_are(corpus: Path) -> None:
    planned = ruled = taken = 0
    for log in sorted(corpus.rglob("_delta_log")):
        try:
            snapshot = explorer.open_table(log.parent).snapshot()
        except DeltaError:
            continue  # one that must be refused
        protocol, metadata, schema = snapshot.protocol, snapshot.metadata, snapshot.schema
        plan = plan_gate(protocol, metadata, schema, statement_time=_TIME, kept=schema.names)
        rules = {
            rule for rule, _ in rules_for_rows(Described(protocol=protocol, metadata=metadata))
        }
        assert plan.rules() == rules, log.parent.name
        planned, ruled = planned + 1, ruled + bool(rules)
        kinds = {getattr(kind, "name", "") for kind in walk_types(schema)}
        if plan.needs_spark is not None or "variant" in kinds:
            continue  # variants are read as their JSON
        try:
            rows = explorer.read_rows(snapshot)
        except DeltaError:
            continue  # a file that the corpus does not have
        if rows.num_rows > _MANY:
            continue
        found = ArrowGate(plan).apply(rows)
        found.validate(full=True)
        assert counted_rows(found) == counted_rows(rows.select(found.column_names)), log.parent.name
        taken += 1
    assert planned >= 120
    assert ruled >= 5
    assert taken >= 100
