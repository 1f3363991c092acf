"""Tables as the gate of rows sees them: protocol and metadata alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.schema import (
    CHARACTER_TYPE_KEY,
    DataType,
    StructField,
    StructType,
    parse_type_name,
    render_schema,
)
from explorer.writing.gate.arrow_gate import ArrowGate, given_schema
from explorer.writing.gate.plan import GatePlan
from explorer.writing.gate.planning import plan_gate

FEATURES = (
    "allowColumnDefaults",
    "checkConstraints",
    "columnMapping",
    "generatedColumns",
    "identityColumns",
    "invariants",
    "timestampNtz",
)
TIME = datetime(2026, 11, 26, 5, 6, 7, 8, tzinfo=UTC)


def column(
    name: str, kind: str | DataType, *, nullable: bool = True, **metadata: Any
) -> StructField:
    """A column; `default`, `generated`, `invariant` and `length` are written as Spark does."""
    keys = {
        "default": "CURRENT_DEFAULT",
        "generated": "delta.generationExpression",
        "invariant": "delta.invariants",
        "length": CHARACTER_TYPE_KEY,
        "start": "delta.identity.start",
        "step": "delta.identity.step",
        "mark": "delta.identity.highWaterMark",
        "explicit": "delta.identity.allowExplicitInsert",
    }
    found = {keys[name]: value for name, value in metadata.items()}
    data_type = parse_type_name(kind) if isinstance(kind, str) else kind
    return StructField(name=name, data_type=data_type, nullable=nullable, metadata=found)


class GateTable:
    """A table with some columns, CHECK constraints and features."""

    def __init__(
        self,
        *columns: StructField,
        checks: dict[str, str] | None = None,
        features: tuple[str, ...] = FEATURES,
    ) -> None:
        configuration = {f"delta.constraints.{name}": text for name, text in (checks or {}).items()}
        self.metadata = Metadata(
            id="0",
            schema_string=render_schema(StructType(fields=columns)),
            configuration=configuration,
        )
        self.protocol = Protocol(
            min_reader_version=3,
            min_writer_version=7,
            reader_features=tuple(name for name in ("timestampNtz",) if name in features),
            writer_features=features,
        )

    def plan(self, given: StructType | pa.Schema, **options: Any) -> GatePlan:
        """The plan for rows with these columns."""
        if isinstance(given, pa.Schema):
            given = given_schema(given)
        options = {"statement_time": TIME, **options}
        return plan_gate(self.protocol, self.metadata, given, **options)

    def take(self, rows: pa.Table, **options: Any) -> pa.Table:
        """The rows as Arrow's gate makes them."""
        return ArrowGate(self.plan(rows.schema, **options)).apply(rows)
