"""Realistic file actions, one per number: the same number always gives the same file."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

SCHEMA_STRING = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (
                ("order_id", "long"),
                ("customer", "string"),
                ("amount", "double"),
                ("ordered_at", "timestamp"),
                ("note", "string"),
                ("region", "string"),
                ("day", "date"),
            )
        ],
    }
)
PARTITION_COLUMNS = ["region", "day"]
START_MS = 1_750_000_000_000

_REGIONS = ("apac", "emea", "latam", "north america")
_ODD = 0x9E3779B97F4A7C15F39CC0605CEDC835
_ALL_BITS = (1 << 128) - 1


def build_uuid(number: int) -> str:
    """A UUID that looks random and depends on `number` alone."""
    text = f"{(number + 1) * _ODD & _ALL_BITS:032x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def build_day(number: int) -> str:
    """One of 360 days, a new one after every 200 files."""
    day = number // 200 % 360
    return f"2025-{day // 30 + 1:02d}-{day % 28 + 1:02d}"


def build_path(number: int) -> str:
    """The path as the log has it: percent-encoded."""
    region = _REGIONS[number % 4].replace(" ", "%20")
    name = f"part-{number % 200:05d}-{build_uuid(number)}.c000.snappy.parquet"
    return f"region={region}/day={build_day(number)}/{name}"


def build_partition_values(number: int) -> dict[str, str]:
    """The values that the path spells out."""
    return {"region": _REGIONS[number % 4], "day": build_day(number)}


def build_size(number: int) -> int:
    """Between 4 KB and 64 MB, most of them small."""
    return 4096 + number * 2_654_435_761 % 16_000_000 * (1 + number % 4)


def build_records(number: int) -> int:
    """The number of rows of the file."""
    return 1_000 + number * 40_503 % 250_000


def build_stats(number: int) -> str:
    """The statistics that Spark would collect, as it would store them."""
    first = number * 1_000
    rows = build_records(number)
    day = build_day(number)
    return (
        f'{{"numRecords":{rows},'
        f'"minValues":{{"order_id":{first},"customer":"c-{first % 99_991:08d}",'
        f'"amount":{number % 97 + 0.25},"ordered_at":"{day}T00:00:0{number % 10}.000Z",'
        f'"note":"a note of {first}"}},'
        f'"maxValues":{{"order_id":{first + rows},"customer":"c-{first % 99_991 + 5_000:08d}",'
        f'"amount":{number % 97 + 9_000.5},"ordered_at":"{day}T23:59:5{number % 10}.000Z",'
        f'"note":"thanks for {rows}"}},'
        f'"nullCount":{{"order_id":0,"customer":{number % 3},"amount":0,"ordered_at":0,'
        f'"note":{rows // 2}}}}}'
    )


def build_parsed_stats(number: int) -> dict[str, Any]:
    """The same as a struct of a checkpoint has them."""
    parsed: dict[str, Any] = json.loads(build_stats(number))
    for side in ("minValues", "maxValues"):
        parsed[side]["ordered_at"] = datetime.fromisoformat(parsed[side]["ordered_at"])
    return parsed


def build_add(number: int) -> dict[str, Any]:
    """The body of an `add` action."""
    return {
        "path": build_path(number),
        "partitionValues": build_partition_values(number),
        "size": build_size(number),
        "modificationTime": START_MS + number,
        "dataChange": True,
        "stats": build_stats(number),
    }


def build_remove(number: int, deleted_ms: int) -> dict[str, Any]:
    """The body of a `remove` action."""
    return {
        "path": build_path(number),
        "deletionTimestamp": deleted_ms,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": build_partition_values(number),
        "size": build_size(number),
    }


def build_metadata() -> dict[str, Any]:
    """The body of the table's `metaData` action."""
    return {
        "id": build_uuid(7),
        "name": "orders",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": SCHEMA_STRING,
        "partitionColumns": PARTITION_COLUMNS,
        "configuration": {},
        "createdTime": START_MS,
    }


def build_protocol(*features: str) -> dict[str, Any]:
    """The plain protocol, or the one that lists `features` for readers and writers."""
    if not features:
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": list(features),
        "writerFeatures": list(features),
    }


def build_commit_info(version: int, adds: int, removes: int) -> dict[str, Any]:
    """The body of a `commitInfo` as Spark writes it; the first commit has read no version."""
    return {
        "timestamp": START_MS + version * 60_000,
        "userName": "etl",
        "operation": "WRITE" if not removes else "MERGE",
        "operationParameters": {"mode": "Append", "partitionBy": '["region","day"]'},
        **({"readVersion": version - 1} if version else {}),
        "isolationLevel": "Serializable",
        "isBlindAppend": not removes,
        "operationMetrics": {"numFiles": str(adds), "numOutputRows": "1000"},
        "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
        "txnId": build_uuid(version),
    }


def render_commit(*actions: dict[str, Any]) -> bytes:
    """Actions as the lines of a commit file."""
    return b"".join(
        json.dumps(action, separators=(",", ":")).encode() + b"\n" for action in actions
    )
