"""The first commit of a table (spec: Change Metadata, Protocol Evolution).

A table is created as the reference creates it: the lowest protocol that has every feature
which its properties, columns and clustering ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import EPOCH, DomainMetadata, Metadata, Protocol
from explorer.protocol.commit_json import Action
from explorer.protocol.features.clustering import clustering_in
from explorer.protocol.features.column_ids import assign_columns
from explorer.protocol.features.evolution import with_features
from explorer.protocol.features.iceberg import assign_nested_ids
from explorer.protocol.features.registry import is_supported, supported_features
from explorer.protocol.features.row_columns import row_column_names
from explorer.protocol.schema import StructType, parse_schema, render_schema
from explorer.protocol.schema_walk import walk_fields
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_POLICY,
    CHECKPOINT_PROTECTION_VERSION,
    COLUMN_MAPPING_MAX_ID,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    ICEBERG_COMPAT_V2,
    IN_COMMIT_TIMESTAMP_TIME,
    IN_COMMIT_TIMESTAMP_VERSION,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
)
from explorer.protocol.table_properties.property_names import FEATURE_PREFIX
from explorer.protocol.values.unicode_text import check_unicode
from explorer.table.times import has_in_commit_timestamps
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.protocol_rules import lacking_features
from explorer.transaction.rules.row_rules import rules_for_rows
from explorer.transaction.staged import Promises
from explorer.writing.schema._asked_properties import AskedProperties, parse_properties
from explorer.writing.schema._data_schema import schema_of_data, schema_of_table
from explorer.writing.schema._judged import check_first, check_later
from explorer.writing.schema._kept_ids import with_kept_ids, with_last_numbers
from explorer.writing.schema._layout import clustering_of, partition_names
from explorer.writing.schema.column_checks import (
    check_filled_columns,
    check_nested_nulls,
    check_new_columns,
    check_properties_of_columns,
    check_schema,
)
from explorer.writing.schema.new_ids import NewIds, new_name

_LOWEST: Final = Protocol(min_reader_version=1, min_writer_version=1)
_BY_WISH_ALONE: Final = frozenset({"allowColumnDefaults"})
"""Features that the reference does not enable because a column uses them."""

_LASTING: Final = (CHECKPOINT_POLICY, DELETION_VECTORS, ROW_TRACKING)
"""Properties that outlast a replacement which does not mention them."""

_NAMED_HERE: Final = {"variantShredding": "variantShredding-preview"}
"""Features that the reference enables under the name of their preview, which more engines
know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """What a commit says of a table that begins with it, or begins again: every live file has
    to go then, as its `promises` say. `domains` are those that features keep."""

    protocol: Protocol
    metadata: Metadata
    domains: tuple[DomainMetadata, ...] = ()
    replaces: bool = False

    @property
    def schema(self) -> StructType:
        """The columns, with ids and physical names where these are mapped."""
        return parse_schema(self.metadata.schema_string)

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the commit begins with, besides the files."""
        return (self.metadata, self.protocol, *self.domains)

    @property
    def promises(self) -> Promises:
        """What a commit vouches for that brings these actions and no row: a table that is
        replaced has none that could break a rule."""
        names = frozenset(item.domain for item in self.domains)
        if not self.replaces:
            return Promises(kept_domains=names)
        table = Described(protocol=self.protocol, metadata=self.metadata)
        validated = frozenset(rule for rule, _ in rules_for_rows(table))
        return Promises(kept_domains=names, removes_every_live_file=True, validated=validated)


def build_new_table(  # noqa: PLR0913  # what a table is described by
    schema: StructType,
    *,
    now_ms: int,
    partition_by: Sequence[str] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str | bool | int] | None = None,
    name: str | None = None,
    description: str | None = None,
    ids: NewIds = uuid4,
) -> NewTable:
    """The first commit of a table with these columns.

    Of `schema` names, types, nullability and column metadata count; columns get ids of their
    own where `delta.columnMapping.mode` asks for them. `properties` are those of the metadata,
    `delta.feature.NAME` = `supported`, and `delta.minReaderVersion` and
    `delta.minWriterVersion`, which stand for features too. `now_ms` is the time of creation in
    milliseconds, `ids` gives the table's own id and every generated name.

    Raises `InvalidArgumentError` for what no table may have: properties that are not known,
    columns that cannot be written, partition or clustering columns that cannot be such, and
    features whose rules for writers are not kept here.
    """
    for text in (name, description):
        check_unicode(text or "", "The name or the description of the table cannot be read.")
    asked = parse_properties(properties or {})
    check_schema(schema)
    columns = schema_of_table(schema)
    if not columns.fields:
        raise InvalidArgumentError(
            "The table would have no columns.",
            reason="No row could be written to it.",
            remedy="Name at least one column.",
            spec="Schema Serialization Format",
        )
    partition_columns = partition_names(partition_by, columns)
    metadata = Metadata(
        id=str(ids()),
        name=name,
        description=description,
        schema_string=render_schema(columns),
        partition_columns=partition_columns,
        configuration=asked.configuration,
        created_time=EPOCH + timedelta(milliseconds=now_ms),
    )
    check_new_columns(walk_fields(columns), COLUMN_MAPPING_MODE.value_of(asked.configuration))
    check_nested_nulls(columns)
    check_filled_columns(columns, partition_columns)
    check_properties_of_columns(metadata, columns)
    metadata = _mapped(metadata, columns, ids)
    protocol = _protocol(asked, metadata, clustered=bool(cluster_by))
    if is_supported(protocol, "rowTracking"):
        configuration = {**metadata.configuration, **row_column_names(ids(), ids())}
        metadata = replace(metadata, configuration=configuration)
    domains = (clustering_of(cluster_by, protocol, metadata),) if cluster_by else ()
    table = NewTable(protocol=protocol, metadata=metadata, domains=domains)
    check_first(table.actions, table.promises)
    return table


def build_replaced_table(
    base: ReadVersion,
    schema: StructType,
    *,
    cluster_by: Sequence[str] = (),
    ids: NewIds = uuid4,
    **described: Any,
) -> NewTable:
    """The commit by which a table that is there begins again, described as for
    `build_new_table`, without the rules and properties that it had.

    What older versions and readers rest on stays: the table's id, the features of its protocol,
    ids of columns that stay as they are, the last number that an identity column of the same
    name has given out, and what writers keep themselves. As with the reference, deletion
    vectors, row tracking and the kind of checkpoints stay unless `properties` say otherwise.
    """
    table = _described(base)
    new = build_new_table(schema, cluster_by=cluster_by, ids=ids, **described)
    protocol = with_features(table.protocol, supported_features(new.protocol))
    held = table.metadata.configuration
    mode = COLUMN_MAPPING_MODE.value_of(new.metadata.configuration)
    columns = with_last_numbers(schema_of_table(new.schema), table.schema)
    if mode != "none" and mode == table.mode:
        columns = with_kept_ids(columns, table.schema)
    metadata = replace(new.metadata, id=table.metadata.id, schema_string=render_schema(columns))
    metadata = _mapped(metadata, columns, ids, COLUMN_MAPPING_MAX_ID.value_of(held))
    lasting = {item.name: held[item.name] for item in _LASTING if item.name in held}
    metadata = replace(metadata, configuration={**lasting, **metadata.configuration})
    kept = _kept_by_writers(table, protocol, metadata)
    metadata = replace(metadata, configuration={**metadata.configuration, **kept})
    domains: tuple[DomainMetadata, ...] = ()
    if cluster_by or clustering_in(base.domains):
        domains = (clustering_of(cluster_by, protocol, metadata),)
    found = NewTable(protocol=protocol, metadata=metadata, domains=domains, replaces=True)
    check_later(base, found.actions, found.promises)
    return found


def _described(base: ReadVersion) -> Described:
    if base.protocol is None or base.metadata is None:
        raise AssertionError("only a table that is there can be replaced")
    return Described(protocol=base.protocol, metadata=base.metadata)


def _kept_by_writers(table: Described, protocol: Protocol, metadata: Metadata) -> dict[str, str]:
    """Properties by which versions and files of the table are read that are there already."""
    after = Described(protocol=protocol, metadata=metadata)
    kept = [CHECKPOINT_PROTECTION_VERSION.name]
    if after.supports("rowTracking"):
        kept += [ROW_ID_COLUMN.name, ROW_COMMIT_VERSION_COLUMN.name]
    both = (table, after)
    if all(has_in_commit_timestamps(each.protocol, each.metadata) for each in both):
        kept += [IN_COMMIT_TIMESTAMP_VERSION.name, IN_COMMIT_TIMESTAMP_TIME.name]
    held = table.metadata.configuration
    return {name: held[name] for name in kept if name in held}


def build_table_of_rows(schema: StructType, **described: Any) -> NewTable:
    """As `build_new_table`, for a table that begins with rows of these columns: every value
    may be null, and what their schema says of another table stays there."""
    check_schema(schema)
    return build_new_table(schema_of_data(schema), **described)


def _mapped(metadata: Metadata, columns: StructType, ids: NewIds, given: int = 0) -> Metadata:
    if COLUMN_MAPPING_MODE.value_of(metadata.configuration) == "none":
        return metadata
    schema, highest = assign_columns(columns, given, new_name(ids))
    if ICEBERG_COMPAT_V2.value_of(metadata.configuration):
        schema, highest = assign_nested_ids(schema, highest)
    told = {COLUMN_MAPPING_MAX_ID.name: str(highest)}
    return replace(
        metadata,
        schema_string=render_schema(schema),
        configuration={**metadata.configuration, **told},
    )


def _protocol(asked: AskedProperties, metadata: Metadata, *, clustered: bool) -> Protocol:
    wished = [*asked.features, "clustering"] if clustered else list(asked.features)
    if any(not place.field.nullable for place in walk_fields(parse_schema(metadata.schema_string))):
        wished.append("invariants")  # as the reference counts NOT NULL among them
    given = with_features(_LOWEST, wished)
    missing = [item.name for item in lacking_features(Described(protocol=given, metadata=metadata))]
    for feature in missing:
        if feature in _BY_WISH_ALONE:
            raise InvalidArgumentError(
                f"A column has a default, and the table does not support {feature}.",
                reason="The reference enables this feature only where it is asked for, because "
                "fewer engines can write the table then.",
                remedy=f"Set the property {FEATURE_PREFIX}{feature} to supported.",
                spec="Default Columns",
            )
    return with_features(given, [_NAMED_HERE.get(feature, feature) for feature in missing])
