"""A table twice, one for us and one for the reference, and what both are asked."""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from explorer.maintenance import Plan, Receipt
from tests.interop.maintained import rows_of
from tests.row_values import counted_rows
from tests.unit.maintenance.lake import approve

_OWN = re.compile(
    r"(col|_row-id-col|_row-commit-version-col)-"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
"""Names that a writer gives a column, which are another each time."""

REFUSED = (PySparkException, Py4JJavaError)
"""What a refusal of delta-spark comes as."""


def carry_out(plan: Plan, scratch: Path, **options: Any) -> Receipt:
    """With the approval that it asks for."""
    return maintenance.execute(plan, approve(plan), state_dir=scratch / "state", **options)


def done(plan: Plan, scratch: Path, **options: Any) -> Receipt:
    """Carried out to its end."""
    assert not plan.refusals, plan.refusals
    receipt = carry_out(plan, scratch, **options)
    assert receipt.status == "completed", receipt.problem
    assert all(check.holds for check in receipt.checks)
    return receipt


def sql(spark: SparkSession, place: Path, text: str) -> Any:
    """A statement about the table at `place`, which it calls `T`, read anew."""
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return spark.sql(text.replace(" T", f" delta.`{place}`"))


def asked(place: Path) -> dict[str, Any]:
    """Protocol and properties, with features in no order."""
    table = explorer.open_table(place)
    protocol = table.protocol()
    return {
        "versions": (protocol.min_reader_version, protocol.min_writer_version),
        "reader": None if protocol.reader_features is None else {*protocol.reader_features},
        "writer": None if protocol.writer_features is None else {*protocol.writer_features},
        "properties": dict(table.metadata().configuration),
    }


def last_commit(place: Path, version: int | None = None) -> dict[str, Any]:
    """`commitInfo` of the newest version, or of that one."""
    version = explorer.open_table(place).latest_version() if version is None else version
    lines = (place / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return next(line["commitInfo"] for line in found if "commitInfo" in line)


def agrees(spark: SparkSession, place: Path) -> None:
    """delta-spark reads the same rows as we."""
    theirs = sql(spark, place, "select * from T").toArrow()
    assert rows_of(place) == counted_rows(theirs)


def make(spark: SparkSession, place: Path, reader: int = 1, writer: int = 2, **more: str) -> Path:
    """A table of two commits in that protocol: a copy of one that delta-spark wrote once."""
    properties = {
        "delta.minReaderVersion": str(reader),
        "delta.minWriterVersion": str(writer),
        **more,
    }
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    return Path(shutil.copytree(_written(spark, told), place))


@cache
def _written(spark: SparkSession, properties: str) -> Path:
    folder = tempfile.mkdtemp(prefix="twins-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place = Path(folder) / "table"
    sql(
        spark,
        place,
        "create table T (id long, part string, amount double, place struct<city: string, "
        "tags: array<struct<name: string>>>) using delta partitioned by (part) "
        f"tblproperties ({properties})",
    )
    for start in (0, 10):
        sql(
            spark,
            place,
            f"insert into T select id + {start}, case when id % 2 = 0 then 'a' else 'b' end, "
            "id * 1.5D, named_struct('city', 'x', 'tags', array(named_struct('name', 'y'))) "
            "from range(10)",
        )
    return place


def build_twins(spark: SparkSession, scratch: Path, **options: Any) -> tuple[Path, Path]:
    """The same table twice: for us, and for the reference."""
    ours = make(spark, scratch / "ours", **options)
    return ours, Path(shutil.copytree(ours, scratch / "theirs"))


def expressions(text: str) -> list[str]:
    """A list of expressions in SQL, by the commas outside of parentheses."""
    found, depth = [""], 0
    for sign in text:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return found
