"""What delta-spark says of a table.

Each table costs it a second or two, most of it for the first look at the log, so that of
earlier versions it reads one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as sql
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from tests.interop.reading import (
    ROW_TRACKING,
    Case,
    Reading,
    Refused,
    ask,
    milliseconds,
    plain_type,
    told_changes,
    told_latest,
    told_rows,
)
from tests.row_values import counted_rows


def read_with_spark(spark: SparkSession, case: Case) -> Reading:
    """Every fact but `protocol`, whose lists it merges, and `transactions`."""
    frame = ask(case, lambda: spark.read.format("delta").load(str(case.place)))
    if isinstance(frame, Refused):
        return {"opening": frame}
    detail = ask(case, lambda: spark.sql(f"describe detail delta.`{case.place}`").first())
    if isinstance(detail, Refused):
        return {"opening": detail}
    commits = spark.sql(f"describe history delta.`{case.place}`").collect()
    reading = {
        "opening": commits[0]["version"],
        "files": (detail["numFiles"], detail["sizeInBytes"]),
        **told_latest(case, lambda: told_rows(case, rows_of_frame(frame))),
        "schema": plain_type(frame.schema.jsonValue()),
        **_settings(detail),
        **_history(commits),
        **told_changes(case, lambda first, last: _changes(spark, case, first, last)),
        **_older(spark, case),
    }
    if detail["properties"].get(ROW_TRACKING) == "true":
        reading["row ids"] = ask(case, lambda: _row_ids(frame))
    return reading


def rows_of_frame(frame: DataFrame) -> pa.Table:
    """The rows, with variants as JSON text."""
    columns = [
        _readable(frame[_quoted(field.name)], field.dataType).alias(field.name)
        for field in frame.schema.fields
    ]
    return frame.select(*columns).toArrow()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _readable(column: Column, data_type: DataType) -> Column:
    if "variant" not in data_type.simpleString():
        return column
    match data_type:
        case VariantType():
            return sql.to_json(column)
        case ArrayType():
            return sql.transform(column, lambda item: _readable(item, data_type.elementType))
        case MapType():
            return sql.transform_values(
                column, lambda _, value: _readable(value, data_type.valueType)
            )
        case StructType():
            fields = [
                _readable(column.getField(field.name), field.dataType).alias(field.name)
                for field in data_type.fields
            ]
            return sql.when(column.isNotNull(), sql.struct(*fields))
        case _:
            raise AssertionError(data_type)


def _row_ids(frame: DataFrame) -> Any:
    named = frame.select(
        "*",
        frame["_metadata.row_id"].alias("_row_id"),
        frame["_metadata.row_commit_version"].alias("_row_commit_version"),
    )
    return counted_rows(named.toArrow())


def _changes(spark: SparkSession, case: Case, first: int, last: int) -> pa.Table:
    feed = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", first)
        .option("endingVersion", last)
    )
    return feed.load(str(case.place)).toArrow()


def _settings(detail: Row) -> Reading:
    return {
        "features": (
            detail["minReaderVersion"],
            detail["minWriterVersion"],
            sorted(detail["tableFeatures"]),
        ),
        "metadata": {
            "id": detail["id"],
            "name": detail["name"],
            "description": detail["description"],
            "partition columns": detail["partitionColumns"],
            "created": _milliseconds(detail["createdAt"]),
            "properties": detail["properties"],
        },
        "clustering": detail["clusteringColumns"],
    }


def _history(commits: list[Row]) -> Reading:
    return {
        "history": {commit["version"]: commit["operation"] for commit in commits},
        "commit times": {
            commit["version"]: _milliseconds(commit["timestamp"]) for commit in commits
        },
    }


def _milliseconds(time: datetime | None) -> int | None:
    # collected without a zone, it is meant in the zone of this process
    return None if time is None else milliseconds(time.astimezone(UTC))


def _older(spark: SparkSession, case: Case) -> Reading:
    return {
        "older rows": {v: ask(case, partial(_rows_at, spark, case, v)) for v in case.sample},
    }


def _rows_at(spark: SparkSession, case: Case, version: int) -> Any:
    frame = spark.read.format("delta").option("versionAsOf", version).load(str(case.place))
    return told_rows(case, rows_of_frame(frame))
