"""Every maintenance operation on one table, and what must be the same afterwards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import explorer
from explorer import maintenance, pipeline
from explorer.maintenance import Approval, Plan, Receipt
from tests.interop.reading import Case, Refused, ask, told_rows
from tests.interop.reading_deltalake import read_with_deltalake
from tests.interop.reading_ours import read_ours
from tests.interop.reading_spark import read_with_spark
from tests.row_values import counted_rows

Facts = Mapping[str, Any]
_STAYS = frozenset(
    (
        "rows",
        "row ids",
        "schema",
        "protocol",
        "features",
        "clustering",
        "transactions",
        "older files",
        "older rows",
        "changes",
        "change times",
        "through the pipeline",
    )
)
_MS = timedelta(milliseconds=1)


def checkpoint(table: explorer.Table) -> Plan:
    """Of the newest version, of the kind that the table asks for."""
    return maintenance.plan_checkpoint(table)


def compact_log(table: explorer.Table) -> Plan:
    """All commits that are there, as far as they follow each other."""
    commits = table.listing().commits
    if len(commits) < 2:
        return maintenance.plan_log_compaction(table)
    return maintenance.plan_log_compaction(table, commits[0], commits[-1])


def vacuum_half(table: explorer.Table) -> Plan:
    """Of what was removed, the older half."""
    removed = table.snapshot().tombstones(["deletion_timestamp"]).column(0)
    times = sorted(int(t.timestamp() * 1000) for t in removed.to_pylist() if t is not None)
    middle = times[len(times) // 2] if times else 0
    now = maintenance.plan_checkpoint(table).planned_at
    retention = max(timedelta(days=1), (now - middle - 1) * _MS)
    return maintenance.plan_vacuum(table, retention, clock=lambda: now)


def vacuum_lite(table: explorer.Table) -> Plan:
    """What the log names, by the table's own retention."""
    return maintenance.plan_vacuum(table, mode="lite")


def vacuum_full(table: explorer.Table) -> Plan:
    """All that the table's own retention lets go."""
    return maintenance.plan_vacuum(table)


def clean_log(table: explorer.Table) -> Plan:
    """What the table's own retention lets go."""
    return maintenance.plan_log_cleanup(table)


OPERATIONS: tuple[Callable[[explorer.Table], Plan], ...] = (
    compact_log,
    checkpoint,
    vacuum_half,
    vacuum_lite,
    vacuum_full,
    clean_log,
)
"""Those that change no row, in an order in which each finds something to do."""


@dataclass(frozen=True, kw_only=True)
class Readers:
    """Who reads: we and deltalake always, the others where there is a session."""

    spark: SparkSession | None = None

    def read(self, case: Case) -> dict[str, Facts]:
        """What each says, nothing of it remembered from before."""
        found: dict[str, Facts] = {"ours": read_ours(case), "deltalake": read_with_deltalake(case)}
        if self.spark is not None:
            # it would answer from what it knows of the log
            self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
            found["delta-spark"] = read_with_spark(self.spark, case)
            found["pipeline"] = {"through the pipeline": ask(case, lambda: self._piped(case))}
        return found

    def _piped(self, case: Case) -> Any:
        snapshot = explorer.open_table(case.place).snapshot()
        return told_rows(case, pipeline.read(snapshot, spark=self.spark).toArrow())


def promised(case: Case, plan: Plan) -> Case:
    """The case with those versions and changes that the plan says stay readable."""
    effect = plan.effect
    lost: set[int] = set()
    for found in effect.get("unreadable_versions", ()):
        lost |= {*range(found["first"], found["last"] + 1)}
    first = effect.get("earliest_version_after", 0)
    history = [
        entry
        for entry in case.expected.get("history") or ()
        if entry["version"] >= first and entry["version"] not in lost
    ]
    # `Case.older` leaves out the last, which is there as `rows`
    feed = case.expected.get("change_feed")
    if feed:
        gone = [found["last"] + 1 for found in effect.get("unreadable_changes", ())]
        start = max([feed["from_version"], first, *gone])
        feed = {**feed, "from_version": start} if start <= feed["to_version"] else None
    return replace(case, expected={**case.expected, "history": history, "change_feed": feed})


def carry_out(plan: Plan, state: Path, **options: Any) -> Receipt:
    """Execute it, with the approval that it asks for."""
    approval = Approval(plan.digest, table_name=plan.subject.name, reason="a test")
    return maintenance.execute(plan, approval, state_dir=state, **options)


def changed_facts(before: dict[str, Facts], after: dict[str, Facts]) -> dict[str, str]:
    """Where a reader says something else than before, by reader and fact."""
    found: dict[str, str] = {}
    for reader, facts in before.items():
        if "opening" in facts and isinstance(facts["opening"], Refused):
            continue
        if isinstance(opening := after[reader].get("opening"), Refused):
            found[reader] = f"refuses: {opening.message}"
            continue
        for fact in facts.keys() & _STAYS:
            told, now = facts[fact], after[reader].get(fact)
            if told != now and not isinstance(told, Refused):
                found[f"{reader}: {fact}"] = _difference(told, now)
        found |= _changed_history(reader, facts, after[reader])
    return found


def _changed_history(reader: str, before: Facts, after: Facts) -> dict[str, str]:
    """Versions of both of which something else is said; new ones are no matter."""
    found: dict[str, str] = {}
    for fact in ("history", "commit times"):
        told, now = before.get(fact), after.get(fact)
        if isinstance(told, dict) and isinstance(now, dict):
            other = {v: (told[v], now[v]) for v in told.keys() & now.keys() if told[v] != now[v]}
            if other:
                found[f"{reader}: {fact}"] = str(other)[:500]
    return found


def _difference(told: Any, now: Any) -> str:
    match told, now:
        case Counter(), Counter():
            return f"lacks {list(told - now)[:2]}, has {list(now - told)[:2]}"
        case dict(), dict():
            parts = {k: _difference(v, now.get(k)) for k, v in told.items() if v != now.get(k)}
            return str(parts)[:800]
        case _, Refused(message):
            return f"refuses: {message[:500]}"
        case _:
            return f"{str(told)[:300]} became {str(now)[:300]}"


def in_each_others_words(found: dict[str, Facts]) -> dict[str, str]:
    """Where those on Spark say other rows than we; refusals left out. (Where deltalake does is
    a matter of `tests/interop/disagreements`.)"""
    ours = found["ours"].get("rows")
    others = {
        "delta-spark": found.get("delta-spark", {}).get("rows"),
        "pipeline": found.get("pipeline", {}).get("through the pipeline"),
    }
    return {
        reader: _difference(ours, rows)
        for reader, rows in others.items()
        if rows is not None and not isinstance(rows, Refused) and rows != ours
    }


def rows_of(place: Path) -> Counter[Any]:
    """What we read, by value."""
    return counted_rows(explorer.read_rows(explorer.open_table(place).snapshot()))


def writable(place: Path) -> Path:
    """The same folder, where every file may be changed."""
    for folder, _, files in os.walk(place):
        os.chmod(folder, 0o755)
        for name in files:
            os.chmod(f"{folder}/{name}", 0o644)
    return place


def write_tracked(spark: SparkSession, place: Path, **properties: str) -> None:
    """A table of delta-spark with deletion vectors, row ids, change data and odd partitions."""
    wanted = {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.enableInCommitTimestamps": "true",
        **properties,
    }
    said = ", ".join(f"'{name}'='{value}'" for name, value in wanted.items())
    spark.sql(
        f"create table delta.`{place}` (id long, part string, v string) using delta "
        f"partitioned by (part) tblproperties ({said})"
    )
    for start in (0, 20, 40):
        spark.sql(
            f"insert into delta.`{place}` select /*+ coalesce(1) */ id + {start}, "
            "case when id % 2 = 0 then 'ä b' else 'x/y%' end, cast(id as string) from range(20)"
        )
    spark.sql(f"delete from delta.`{place}` where id % 7 = 0")
    spark.sql(f"update delta.`{place}` set v = 'new' where id in (1, 2, 30)")
