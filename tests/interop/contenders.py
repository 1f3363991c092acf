"""Statements of two writers about one partition each, as ours, as delta-spark's, and in plain
Python; and which rule of the reference's keeps one from following the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance, pipeline
from tests.interop.twins import carry_out, sql

Rows = frozenset[tuple[int, str, int]]

CHANGES = ("append", "overwrite", "delete", "update", "merge")
WINNERS = (*CHANGES, "optimize", "metadata", "protocol")
LEVELS = ("WriteSerializable", "Serializable")

_FIRST = {"a": 0, "b": 10}
_GONE = (1, 5)
_UPDATED = (0, 1, 4, 5)


def rows_before() -> Rows:
    """Of two partitions, two files in each."""
    return frozenset(
        (first + number, part, number) for part, first in _FIRST.items() for number in range(8)
    )


def make(place: Path, level: str) -> None:
    """The table."""
    properties = {"delta.isolationLevel": level, "delta.enableDeletionVectors": "false"}
    pipeline.create(
        place, "id BIGINT, part STRING, v BIGINT", partition_by="part", properties=properties
    )
    for half in (range(4), range(4, 8)):
        _write(place, [row for row in sorted(rows_before()) if row[2] in half])


def rows_of(place: Path) -> Rows:
    """What is there; no row is twice in any outcome that is right."""
    found = explorer.read_rows(explorer.open_table(place).snapshot()).to_pylist()
    told = [(row["id"], row["part"], row["v"]) for row in found]
    assert len(set(told)) == len(told), told
    return frozenset(told)


def after(name: str, part: str, rows: Rows, who: int) -> Rows:
    """What the statement makes of rows, if no other writer comes between."""
    first = _FIRST[part]
    match name:
        case "append":
            return rows | {_new(part, who)}
        case "overwrite":
            return frozenset(row for row in rows if row[1] != part) | {_new(part, who)}
        case "delete":
            return frozenset(row for row in rows if row[0] - first not in _GONE)
        case "update":
            return frozenset(
                (row[0], row[1], row[2] + who) if row[0] - first in _UPDATED else row
                for row in rows
            )
        case "merge":
            ids = {row[0] for row in rows}
            merged = {first: who, first + 7: who, 100 + who: who}
            old = frozenset((key, p, merged.get(key, v)) for key, p, v in rows)
            return old | {(key, part, v) for key, v in merged.items() if key not in ids}
        case _:
            return rows


def _new(part: str, who: int) -> tuple[int, str, int]:
    return (1000 + who, part, who)


def _merged(part: str, who: int) -> list[tuple[int, str, int]]:
    first = _FIRST[part]
    return [(key, part, who) for key in (first, first + 7, 100 + who)]


def _table(rows: Iterable[tuple[int, str, int]]) -> pa.Table:
    ids, parts, values = zip(*rows, strict=True)
    return pa.table({"id": ids, "part": parts, "v": values})


def _write(place: Path, rows: Iterable[tuple[int, str, int]], **options: Any) -> None:
    pipeline.write(_table(rows), place, engine="local", **options)


def ours(name: str, part: str, place: Path, who: int, scratch: Path) -> None:
    """Our statement, in this process."""
    first, table = _FIRST[part], explorer.open_table(place)
    match name:
        case "append":
            _write(place, [_new(part, who)])
        case "overwrite":
            _write(place, [_new(part, who)], mode="overwrite", replace_where=f"part = '{part}'")
        case "delete":
            told = ", ".join(str(first + number) for number in _GONE)
            pipeline.delete(place, f"part = '{part}' AND id IN ({told})", engine="local")
        case "update":
            told = ", ".join(str(first + number) for number in _UPDATED)
            where = f"part = '{part}' AND id IN ({told})"
            pipeline.update(place, {"v": f"v + {who}"}, where, engine="local")
        case "merge":
            on = "target.part = source.part AND target.id = source.id"
            merging = pipeline.merge(place, _table(_merged(part, who)), on, engine="local")
            merging.when_matched_update_all().when_not_matched_insert_all().execute()
        case "optimize":
            carry_out(maintenance.plan_optimize(table, where=f"part = '{part}'"), scratch)
        case "metadata":
            carry_out(maintenance.plan_set_properties(table, {"custom.key": str(who)}), scratch)
        case "protocol":
            carry_out(maintenance.plan_upgrade(table, features=["domainMetadata"]), scratch)


def theirs(
    name: str, part: str, place: Path, who: int, spark: SparkSession, also: str = "true"
) -> None:
    """delta-spark's own; `also` is asked of each row that a change reads."""
    first = _FIRST[part]

    def values(rows: Iterable[tuple[int, str, int]]) -> str:
        told = ", ".join(f"({key}L, '{p}', {v}L)" for key, p, v in rows)
        return f"select * from values {told} as s(id, part, v) where {also}"

    def keys(numbers: Iterable[int]) -> str:
        told = ", ".join(str(first + n) for n in numbers)
        return f"part = '{part}' and id in ({told}) and {also}"

    texts = {
        "append": f"insert into T {values([_new(part, who)])}",
        "overwrite": f"insert into T replace where part = '{part}' {values([_new(part, who)])}",
        "delete": f"delete from T where {keys(_GONE)}",
        "update": f"update T set v = v + {who} where {keys(_UPDATED)}",
        "merge": f"merge into T as t using ({values(_merged(part, who))}) as s "
        f"on t.part = '{part}' and t.id = s.id "
        "when matched then update set * when not matched then insert *",
        "optimize": f"optimize T where part = '{part}'",
        "metadata": f"alter table T set tblproperties ('custom.key' = '{who}')",
        "protocol": "alter table T set tblproperties "
        "('delta.feature.domainMetadata' = 'supported')",
    }
    sql(spark, place, texts[name])


def commit_of(before: Path, changed: Path, into: Path) -> None:
    """Keep what a statement brought to a copy of a table: its files, and its commit."""
    for path in changed.rglob("*"):
        name = path.relative_to(changed)
        if path.is_file() and not (before / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, into / name)


def rule_between(
    name: str, winner: str, *, meets: bool, level: str, by_statistics: bool
) -> str | None:
    """The rule by which `name` cannot just follow `winner`: the reference's table of conflicts, by
    the names of its exceptions; `meets` says that both are about one partition. `by_statistics`,
    as with ours, new rows count only where the bounds of their file let them match; the reference
    asks their partition alone."""
    if winner in {"metadata", "protocol"}:
        return f"{winner} changed"
    if name == "append" or not meets:
        return None
    if winner == "optimize":
        return "concurrent delete-read"
    if winner == "append" and level == "WriteSerializable":
        return None  # a blind append may as well come after
    if by_statistics and name != "overwrite" and winner in {"append", "overwrite"}:
        return None if winner == "append" else "concurrent delete-read"
    return "concurrent append"
