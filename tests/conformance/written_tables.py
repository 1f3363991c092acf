"""What the tables of `test_written_tables` are written by: statements of the product alone."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa

from explorer import open_table, pipeline
from explorer.maintenance import Approval, execute, plan_optimize, plan_upgrade
from tests.conformance.written import Make

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
_ON = "true"


def rows(**columns: Any) -> pa.Table:
    return pa.table(columns)


def run(root: Path, plan: Any) -> None:
    receipt = execute(plan, Approval(plan.digest), state_dir=root.parent / f"{root.name}-state")
    assert receipt.status == "completed", receipt.problem


def optimize(root: Path) -> None:
    run(root, plan_optimize(open_table(root)))


def plain(root: Path) -> None:
    pipeline.create(root, "id BIGINT NOT NULL, name STRING", name="orders", description="of a shop")
    pipeline.write(rows(id=[1, 2], name=["a", None]), root, transaction=("nightly", 7))
    pipeline.write(rows(id=[9], name=["z"]), root, transaction=("nightly", 7))
    pipeline.write(rows(id=[9], name=["z"]), root, transaction=("nightly", 6))
    pipeline.write(rows(id=[3], name=["c"]), root, user_name="anna", user_metadata="by hand")
    optimize(root)
    pipeline.write(rows(id=[4], name=["d"]), root, mode="overwrite", transaction=("nightly", 8))


def partitioned(root: Path) -> None:
    columns = (
        "id INT, t TIMESTAMP, n TIMESTAMP_NTZ, d DATE, s STRING, b BOOLEAN, x BINARY, "
        "p DECIMAL(6,2), f DOUBLE, i SMALLINT"
    )
    names = tuple("tndsbxpfi")
    pipeline.create(root, columns, partition_by=names)
    plain_time = NOON.replace(tzinfo=None)
    pipeline.write(
        pa.table(
            {
                "id": pa.array([1, 2, 3], pa.int32()),
                "t": [NOON, NOON.replace(microsecond=120), None],
                "n": [plain_time, plain_time.replace(microsecond=120), None],
                "d": [NOON.date(), dt.date(999, 1, 2), None],
                "s": ["a b/%ü", "x=y", ""],
                "b": [True, False, None],
                "x": [b"\x01A", b"z", None],
                "p": pa.array([1, 2, None], pa.int64()).cast(pa.decimal128(20, 0)),
                "f": [0.5, -1e300, None],
                "i": pa.array([-3, 4, None], pa.int16()),
            }
        ),
        root,
    )
    pipeline.write(
        pa.table({"id": pa.array([4], pa.int32()), "s": ["x=y"]}),
        root,
        mode="overwrite",
        replace_where="s = 'x=y'",
    )


def mapped(root: Path) -> None:
    pipeline.create(
        root,
        "`a b` BIGINT, place STRUCT<`x y`: INT, z: STRING>, p STRING",
        partition_by="p",
        properties={"delta.columnMapping.mode": "name"},
    )
    kind = pa.struct([("x y", pa.int32()), ("z", pa.string())])
    first = {"a b": [1, 2], "place": pa.array([{"x y": 3, "z": "q"}, None], kind), "p": ["u", None]}
    pipeline.write(pa.table(first), root)
    pipeline.write(pa.table({**first, "new": ["n", "m"]}), root, merge_schema=True)


def tracked(root: Path) -> None:
    pipeline.create(root, "id BIGINT", properties={"delta.enableRowTracking": _ON})
    for start in (0, 10, 20):
        pipeline.write(rows(id=list(range(start, start + 3))), root)
    optimize(root)
    pipeline.write(rows(id=[50, 51]), root, mode="overwrite")


def backfilled(root: Path) -> None:
    pipeline.create(root, "id BIGINT")
    pipeline.write(rows(id=[1, 2, 3]), root)
    pipeline.write(rows(id=[4]), root)
    run(root, plan_upgrade(open_table(root), features=["rowTracking"]))
    pipeline.write(rows(id=[5, 6]), root)


def clustered(root: Path) -> None:
    columns = ", ".join(f"c{number} INT" for number in range(40))
    spoken_of = {"delta.dataSkippingStatsColumns": "c3,k"}
    pipeline.create(root, f"{columns}, k STRING", cluster_by=("k",), properties=spoken_of)
    pipeline.write(pa.table({"c0": pa.array([1, 2], pa.int32()), "k": ["b", "a"]}), root)
    pipeline.write(pa.table({"c0": pa.array([3], pa.int32()), "k": ["c"]}), root)
    run(root, plan_optimize(open_table(root)))


def fed(root: Path) -> None:
    pipeline.create(
        root,
        "id BIGINT, p STRING",
        partition_by="p",
        properties={"delta.enableChangeDataFeed": _ON},
    )
    pipeline.write(rows(id=[1, 2], p=["a", "b"]), root)
    pipeline.write(rows(id=[3], p=["a"]), root, mode="overwrite", partition_overwrite="dynamic")
    pipeline.write(rows(id=[4], p=["c"]), root, mode="overwrite")


def timed(root: Path) -> None:
    pipeline.create(root, "id BIGINT", properties={"delta.enableInCommitTimestamps": _ON})
    for number in range(3):
        pipeline.write(rows(id=[number]), root)
    optimize(root)


def append_only(root: Path) -> None:
    pipeline.create(root, "id BIGINT", properties={"delta.appendOnly": _ON})
    pipeline.write(rows(id=[1]), root)
    pipeline.write(rows(id=[2]), root)
    optimize(root)


def by_numbers(root: Path) -> None:
    """Features by the number of a writer version alone."""
    pipeline.create(
        root,
        "id BIGINT, twice BIGINT GENERATED ALWAYS AS (id * 2)",
        properties={
            "delta.minWriterVersion": "4",
            "delta.constraints.positive": "id > 0",
            "delta.enableChangeDataFeed": _ON,
        },
    )
    pipeline.write(rows(id=[1, 2]), root)
    pipeline.write(rows(id=[3], twice=[6]), root)


def ruled(root: Path) -> None:
    """Columns and rows with rules, each listed by name."""
    pipeline.create(
        root,
        "id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 100 INCREMENT BY -5), "
        "free BIGINT GENERATED BY DEFAULT AS IDENTITY, "
        "a INT, twice INT GENERATED ALWAYS AS (a + a), code STRING DEFAULT 'none'",
        properties={
            "delta.feature.allowColumnDefaults": "supported",
            "delta.constraints.small": "a < 100 OR a IS NULL",
        },
    )
    numbers = pa.array([1, None], pa.int32())
    pipeline.write(pa.table({"a": numbers}), root)
    pipeline.write(pa.table({"a": numbers, "twice": pa.array([2, None], pa.int32())}), root)
    pipeline.write(pa.table({"code": pa.array([None], pa.string()), "free": [40]}), root)


def invariant(root: Path) -> None:
    held = {"delta.invariants": '{"expression":{"expression":"a > 3"}}'}
    pipeline.create(root, pa.schema([pa.field("a", pa.int32(), metadata=held)]))
    pipeline.write(pa.table({"a": pa.array([4], pa.int32())}), root)


def vectors(root: Path) -> None:
    pipeline.create(root, "id BIGINT", properties={"delta.enableDeletionVectors": _ON})
    pipeline.write(rows(id=[1, 2]), root)
    pipeline.write(rows(id=[3]), root, mode="overwrite")


def changed(root: Path) -> None:
    """Another layout and other columns, which only an overwrite of everything may bring."""
    pipeline.create(
        root,
        "id BIGINT, p STRING",
        partition_by="p",
        properties={
            "delta.checkpointInterval": "2",
            "delta.checkpointPolicy": "v2",
        },
    )
    pipeline.write(rows(id=[1, 2], p=["a", "b"]), root)
    pipeline.write(
        rows(q=[1, 2], p=["a", "b"]),
        root,
        mode="overwrite",
        overwrite_schema=True,
        partition_by="q",
    )
    pipeline.write(rows(q=[3], p=["c"], more=[0.5]), root, merge_schema=True)


def _for_iceberg(root: Path, version: int, columns: str, data: pa.Table) -> None:
    pipeline.create(
        root,
        columns,
        partition_by=("p", "q"),
        properties={f"delta.enableIcebergCompatV{version}": _ON},
    )
    pipeline.write(data, root)
    pipeline.write(data, root)
    optimize(root)
    pipeline.write(data.slice(0, 1), root, mode="overwrite", partition_overwrite="dynamic")
    pipeline.write(
        data.append_column("more", pa.nulls(2, pa.list_(pa.int32())))
        if version == 2
        else data.append_column("more", pa.nulls(2, pa.int32())),
        root,
        merge_schema=True,
    )


_TIMES = {"p": [NOON, NOON], "at": [NOON, None], "q": ["x", None], "id": [1, 2]}


def iceberg_1(root: Path) -> None:
    _for_iceberg(root, 1, "p TIMESTAMP, id BIGINT, at TIMESTAMP, q STRING", pa.table(_TIMES))


def iceberg_2(root: Path) -> None:
    inner = pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.int32())))])
    lists = pa.array([[{"m": [("k", [1, None])]}], None], pa.list_(inner))
    _for_iceberg(
        root,
        2,
        "p TIMESTAMP, l ARRAY<STRUCT<m: MAP<STRING, ARRAY<INT>>>>, id BIGINT, at TIMESTAMP, "
        "q STRING",
        pa.table({**_TIMES, "l": lists}),
    )


TABLES: dict[str, Make] = {
    make.__name__: make
    for make in (
        plain,
        partitioned,
        mapped,
        tracked,
        backfilled,
        clustered,
        fed,
        timed,
        append_only,
        by_numbers,
        ruled,
        invariant,
        vectors,
        changed,
        iceberg_1,
        iceberg_2,
    )
}
