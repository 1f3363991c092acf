"""The rows of the rules for writers, as plain values (spec: Requirements for Writers)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.column_mapping import column_mapping_mode, logical_path
from explorer.protocol.features.column_rules import (
    ColumnRule,
    column_rules,
    describe_identity,
)
from explorer.protocol.features.registry import is_catalog_managed, is_supported
from explorer.protocol.features.row_id_high_water_mark import ROW_TRACKING_DOMAIN
from explorer.protocol.schema import StructType
from explorer.protocol.schema_walk import render_path
from explorer.protocol.table_properties import known_properties as known
from explorer.protocol.table_properties.properties import check_constraints
from explorer.records import record

NAMES: Final = (
    "rule",
    "name",
    "column",
    "text",
    "start",
    "step",
    "high_water_mark",
    "binds",
    "feature",
    "source",
)
"""The columns of `writer_rules`."""

_FEATURE_OF = {
    "not null": None,
    "length": None,
    "invariant": "invariants",
    "generated": "generatedColumns",
    "default": "allowColumnDefaults",
    "identity": "identityColumns",
}
_ICEBERG = {
    known.ICEBERG_COMPAT_V1: "icebergCompatV1",
    known.ICEBERG_COMPAT_V2: "icebergCompatV2",
    known.ICEBERG_COMPAT_V3: "icebergCompatV3",
    known.ICEBERG_WRITER_COMPAT_V1: "icebergWriterCompatV1",
    known.ICEBERG_WRITER_COMPAT_V3: "icebergWriterCompatV3",
}
_UNKNOWN = "not known: only a snapshot says, and this table's is refused"


@record
class Rules:
    """What rules are made from; `schema` is None where it cannot be read, `domains`
    where a snapshot is refused."""

    protocol: Protocol
    metadata: Metadata
    schema: StructType | None
    domains: Mapping[str, DomainMetadata] | None
    row_id_high_water_mark: int | None = None


def rule_rows(rules: Rules) -> Iterator[tuple[Any, ...]]:
    """The rows of `writer_rules`."""
    for rule in column_rules(rules.schema) if rules.schema is not None else ():
        yield _column_row(rule, rules.protocol)
    configuration = rules.metadata.configuration
    for name, expression in sorted(check_constraints(configuration).items()):
        source = f"delta.constraints.{name}"
        yield _row(rules, "check", "checkConstraints", source, expression, name=name)
    if known.APPEND_ONLY.value_of(configuration):
        text = "rows may be added, not changed or removed"
        yield _row(rules, "append only", "appendOnly", known.APPEND_ONLY.name, text)
    yield from _clustering(rules)
    for item, feature in _ICEBERG.items():
        if item.value_of(configuration):
            text = "the table stays convertible to Iceberg"
            yield _row(rules, "iceberg compatibility", feature, item.name, text, name=feature)
    yield from _row_tracking(rules)
    if is_supported(rules.protocol, "checkpointProtection"):
        before = known.CHECKPOINT_PROTECTION_VERSION.value_of(configuration)
        text = f"checkpoints before version {before} go only with all history up to it"
        source = known.CHECKPOINT_PROTECTION_VERSION.name
        yield _row(rules, "checkpoint protection", "checkpointProtection", source, text)
    if is_catalog_managed(rules.protocol):
        text = "a catalog decides which commits count; the published ones may lag behind"
        yield _row(rules, "catalog managed", "catalogManaged", "protocol", text)


def _column_row(rule: ColumnRule, protocol: Protocol) -> tuple[Any, ...]:
    feature, identity = _FEATURE_OF[rule.kind], rule.identity
    return (
        rule.kind,
        None,
        rule.path,
        rule.expression if identity is None else describe_identity(identity),
        None if identity is None else identity.start,
        None if identity is None else identity.step,
        None if identity is None else identity.high_water_mark,
        feature is None or is_supported(protocol, feature),
        feature,
        rule.key,
    )


def _clustering(rules: Rules) -> Iterator[tuple[Any, ...]]:
    if rules.domains is None:
        if is_supported(rules.protocol, "clustering"):
            yield _row(rules, "clustering", "clustering", CLUSTERING_DOMAIN, _UNKNOWN)
        return
    domain = rules.domains.get(CLUSTERING_DOMAIN)
    if domain is None:
        return
    paths = clustering_columns(domain.configuration)
    if not paths:
        text = "by no column" if paths is not None else "its columns cannot be read"
        yield _row(rules, "clustering", "clustering", CLUSTERING_DOMAIN, text)
        return
    mode = column_mapping_mode(rules.protocol, rules.metadata.configuration)
    for path in paths:
        column = None if rules.schema is None else logical_path(path, rules.schema, mode)
        text = f"stored as {render_path(path)}"
        if column is None:
            text += ", which is not a column of the schema"
        yield _row(rules, "clustering", "clustering", CLUSTERING_DOMAIN, text, column=column)


def _row_tracking(rules: Rules) -> Iterator[tuple[Any, ...]]:
    mark = rules.row_id_high_water_mark
    if not is_supported(rules.protocol, "rowTracking") and mark is None:
        return
    configuration = rules.metadata.configuration
    if known.ROW_TRACKING_SUSPENDED.value_of(configuration):
        text = "suspended: new rows get no ids"
    elif known.ROW_TRACKING.value_of(configuration):
        text = "enabled: rows keep their ids"
    else:
        text = "supported, not enabled: new rows get ids, and changed ones lose them"
    if rules.domains is None:
        text += "; the highest id is " + _UNKNOWN
    yield _row(
        rules, "row tracking", "rowTracking", ROW_TRACKING_DOMAIN, text, high_water_mark=mark
    )


def _row(  # noqa: PLR0913  # a row has that many columns
    rules: Rules,
    rule: str,
    feature: str,
    source: str,
    text: str,
    *,
    name: str | None = None,
    column: str | None = None,
    high_water_mark: int | None = None,
) -> tuple[Any, ...]:
    binds = is_supported(rules.protocol, feature) or (
        feature == "catalogManaged" and is_catalog_managed(rules.protocol)
    )
    return (rule, name, column, text, None, None, high_water_mark, binds, feature, source)
