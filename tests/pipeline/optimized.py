"""Tables for the tests of optimize, and a store that tells of commits."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.maintenance import Approval, Plan, Receipt
from explorer.storage.local import LocalStore
from explorer.storage.ports import PutOutcome
from tests.row_values import counted_rows
from tests.tables import commit_name

WRITING = "Writing rows again"
"""What the progress is called while files are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Carries plans out, with the approval that they ask for."""

    spark: SparkSession
    state: Path

    def __call__(self, plan: Plan, **options: Any) -> Receipt:
        approval = Approval(plan.digest)
        return maintenance.execute(
            plan, approval, spark=self.spark, state_dir=self.state, **options
        )


def opened(place: Path) -> explorer.Table:
    return explorer.open_table(place)


def rows_of(place: Path, version: int | None = None, **options: Any) -> Counter[Any]:
    return counted_rows(explorer.read_rows(opened(place).snapshot(version=version), **options))


def live_files(place: Path) -> set[str]:
    return {unquote(path) for path in opened(place).snapshot().files(["path"])["path"].to_pylist()}


def data_files(place: Path) -> set[str]:
    every = (found.relative_to(place).as_posix() for found in place.rglob("*.parquet"))
    return {path for path in every if not path.startswith("_delta_log/")}


def simple(place: Path, files: int = 6, rows: int = 50, **options: Any) -> Path:
    """A table of deltalake: files beside each other, in two partitions with odd names."""
    for number in range(files):
        ids = range(number * rows, (number + 1) * rows)
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "p": pa.array(["ä b/50%" if number % 2 else None for _ in ids], pa.string()),
                "v": [f"row {at % 13}" for at in ids],
            }
        )
        write_deltalake(place, table, mode="append", partition_by=["p"], **options)
    return place


def ordered(place: Path, rows: int = 20_000) -> Path:
    """Rows in no order, two columns and a third that follows neither."""
    shuffled = random.Random(7)
    for _ in range(4):
        table = pa.table(
            {
                "x": pa.array([shuffled.randrange(1000) for _ in range(rows // 4)], pa.int64()),
                "y": [f"y{shuffled.randrange(1000):04}" for _ in range(rows // 4)],
                "z": pa.array([shuffled.random() for _ in range(rows // 4)]),
            }
        )
        write_deltalake(place, table, mode="append")
    return place


def actions(place: Path, version: int) -> list[dict[str, Any]]:
    text = (place / "_delta_log" / commit_name(version)).read_text()
    return [json.loads(line) for line in text.splitlines()]


class Watched(LocalStore):
    """A store that tells of each commit before it is made; tasks get one that does not."""

    def __init__(self, place: Path, look: Callable[[str], None]) -> None:
        super().__init__(str(place))
        self.look = look

    def put_if_absent(self, path: str, data: Any) -> PutOutcome:
        if path.endswith(".json"):
            self.look(path)
        return super().put_if_absent(path, data)

    def __reduce__(self) -> Any:
        return LocalStore, (self.uri,)


def before_commit(place: Path, version: int, action: Callable[[], Any]) -> explorer.Table:
    """The table, where something happens just before our first attempt at a version."""
    done: list[bool] = []

    def look(path: str) -> None:
        if path.endswith(commit_name(version)) and not done:
            done.append(True)
            action()

    return explorer.Table(Watched(place, look))
