"""Tables with data files, written by pyarrow and a log of JSON lines.

table = DataTable(tmp_path / "t", schema(("id", "long"), ("name", "string")))
table.add("a.parquet", pa.table({"id": [1, 2], "name": ["x", None]}))
table.write()
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.tables import LogFolder, add, metadata


def field(name: str, kind: Any, nullable: bool = True, **meta: Any) -> dict[str, Any]:
    """A field of a schema as in the log; `kind` is a type name or its object."""
    return {"name": name, "type": kind, "nullable": nullable, "metadata": meta}


def mapped(name: str, kind: Any, physical: str, number: int) -> dict[str, Any]:
    """A field of a table whose columns are mapped."""
    meta = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": kind, "nullable": True, "metadata": meta}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    """A struct type as in the log."""
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    """An array type as in the log."""
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key: Any, value: Any) -> dict[str, Any]:
    """A map type as in the log."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


class DataTable:
    """A table of one commit, made file by file and then written."""

    def __init__(
        self,
        root: Path,
        schema: dict[str, Any],
        *,
        features: tuple[str, ...] = (),
        protocol: dict[str, Any] | None = None,
        configuration: dict[str, str] | None = None,
        **meta: Any,
    ) -> None:
        self.root = root
        self._log = LogFolder(root)
        reader = [name for name in features if name not in {"rowTracking", "domainMetadata"}]
        body: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
        if features:
            body = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": reader,
                "writerFeatures": list(features),
            }
        self._actions: list[Any] = [
            {"protocol": protocol or body},
            metadata(schemaString=json.dumps(schema), configuration=configuration or {}, **meta),
        ]

    def add(self, path: str, rows: pa.Table | None = None, **fields: Any) -> Path:
        """One more live file; written unless `rows` is None. `fields` go into the action,
        `written` to pyarrow."""
        written = fields.pop("written", {})
        place = self.root / path
        if rows is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, place, **{"write_page_checksum": True, **written})
        self._actions.append(add(path, **fields))
        return place

    def write(self) -> Path:
        """Write the log; the table's place."""
        self._log.commit(0, self._actions)
        return self.root
