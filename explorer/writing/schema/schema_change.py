"""How the columns of a table change with the rows that come (spec: Change Metadata, Column
Mapping, Type Widening)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import DomainMetadata, FieldPath, Metadata, Protocol
from explorer.protocol.commit_json import Action
from explorer.protocol.features.clustering import (
    CLUSTERING_DOMAIN,
    clustering_columns,
    clustering_in,
)
from explorer.protocol.features.column_ids import assign_columns
from explorer.protocol.features.column_mapping import physical_path
from explorer.protocol.features.evolution import with_features
from explorer.protocol.features.iceberg import ICEBERG_V2, assign_nested_ids
from explorer.protocol.features.type_widening import is_widened_by_appends
from explorer.protocol.schema import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    parse_schema,
    render_schema,
    render_type,
)
from explorer.protocol.schema_walk import leaf_fields, render_path, walk_fields
from explorer.protocol.table_properties.known_properties import (
    COLUMN_MAPPING_MAX_ID,
)
from explorer.protocol.table_properties.properties import check_constraints
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.protocol_rules import lacking_features
from explorer.transaction.staged import Promises
from explorer.writing.schema._data_schema import schema_of_data
from explorer.writing.schema._judged import check_later
from explorer.writing.schema._kept_ids import with_kept_ids
from explorer.writing.schema._layout import clustering_of, partition_names
from explorer.writing.schema.column_checks import (
    check_new_columns,
    check_properties_of_columns,
    check_schema,
)
from explorer.writing.schema.expression_columns import check_no_expression, columns_spoken_of
from explorer.writing.schema.new_ids import NewIds, new_name
from explorer.writing.schema.widening import (
    is_simple,
    is_taken_by_formats,
    may_widen,
    recorded_change,
    with_recorded,
)

_BY_THEMSELVES: Final = frozenset({"variantType"})
"""Features that the reference adds to a table that is there because a new column needs them;
it leaves the others to a person, who knows which engines have to follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """Protocol and metadata after a change, and what of them the commit writes."""

    protocol: Protocol
    metadata: Metadata
    domains: tuple[DomainMetadata, ...] = ()
    writes_protocol: bool = False

    @property
    def schema(self) -> StructType:
        """The columns afterwards."""
        return parse_schema(self.metadata.schema_string)

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the commit says of the table, besides the files."""
        protocol = (self.protocol,) if self.writes_protocol else ()
        return (self.metadata, *protocol, *self.domains)

    @property
    def kept_domains(self) -> frozenset[str]:
        """For the promises of the commit."""
        return frozenset(item.domain for item in self.domains)


def merge_schema(
    base: ReadVersion, incoming: StructType, *, ids: NewIds = uuid4
) -> SchemaChange | None:
    """What becomes of the table where rows with the columns `incoming` are appended and new
    columns are wanted; None where it stays as it is.

    Columns are matched by name, whatever its case. Those that are new come to the end of their
    struct, also inside arrays and maps, and may be null; void columns take the type that comes;
    with `delta.enableTypeWidening` a type becomes the wider one that comes and the change is
    recorded. Every other column stays as it is: whether its rows can be cast to it is for the
    rows to tell, value by value.

    Raises `InvalidArgumentError` where a struct, an array or a map meets another type, where a
    column whose type would change is part of an expression of the table, and for a feature that
    a new column needs and that only a person may enable.
    """
    table = described_version(base)
    check_schema(incoming)
    data = schema_of_data(incoming)
    merging = _Merging(table)
    merged = merging.structs(table.schema, data, ())
    if merged == table.schema:
        return None
    check_new_columns(
        (place for place in walk_fields(merged) if place.names in merging.added), table.mode
    )
    check_no_expression(table, merging.retyped, "The type of {} would change")
    metadata = with_ids(table, merged, ids)
    change = with_protocol(base, table, metadata, ())
    check_later(base, change.actions, Promises())
    return change


def overwrite_schema(
    base: ReadVersion,
    incoming: StructType,
    *,
    partition_by: Sequence[str] | None = None,
    cluster_by: Sequence[str] | None = None,
    ids: NewIds = uuid4,
) -> SchemaChange | None:
    """What becomes of the table where all its rows are replaced by rows with the columns
    `incoming`; None where it stays as it is. The commit has to promise that every live file
    goes.

    The table keeps its id, name and properties; columns come with nothing but their types,
    comments and lengths of text. With mapped columns one that is there already, of the same
    type, keeps its id and its name in files. Without `partition_by` and `cluster_by` the table
    is laid out as before.

    Raises `InvalidArgumentError` where a constraint speaks of a column that is gone, where the
    layout needs one, and what `build_new_table` raises for columns.
    """
    table = described_version(base)
    check_schema(incoming)
    data = schema_of_data(incoming)
    partition_columns = _partitioning(table, data, partition_by, cluster_by)
    check_new_columns(walk_fields(data), table.mode)
    if table.mode != "none":
        data = with_kept_ids(data, table.schema)
    metadata = with_ids(table, data, ids)
    metadata = replace(metadata, partition_columns=partition_columns)
    _check_constraints(table, metadata, data)
    domains = _clustering(base, table, metadata, cluster_by)
    change = with_protocol(base, table, metadata, domains)
    if change.metadata == table.metadata and not domains:
        return None
    promises = Promises(removes_every_live_file=True, kept_domains=change.kept_domains)
    check_later(base, change.actions, promises)
    return change


def change_clustering(base: ReadVersion, cluster_by: Sequence[str]) -> SchemaChange | None:
    """What becomes of the table where its rows are clustered by these columns from now on, by none
    without any; None where it stays as it is. Files that are there stay as they are, too.

    Raises what `build_new_table` raises for clustering columns.
    """
    table = described_version(base)
    domains = _clustering(base, table, table.metadata, tuple(cluster_by))
    return with_protocol(base, table, table.metadata, domains) if domains else None


def described_version(base: ReadVersion) -> Described:
    """The table as `base` has it; raises `CorruptLogError` for a schema that cannot be read."""
    if base.protocol is None or base.metadata is None:
        raise AssertionError("a schema is changed upon a table that is there")
    parse_schema(base.metadata.schema_string)  # else one that cannot be read would count as empty
    return Described(protocol=base.protocol, metadata=base.metadata)


def with_ids(table: Described, schema: StructType, ids: NewIds) -> Metadata:
    """The metadata with these columns, which get ids and names in files where the table maps
    columns and they have none."""
    metadata = table.metadata
    if table.mode == "none":
        return replace(metadata, schema_string=render_schema(schema))
    given = COLUMN_MAPPING_MAX_ID.value_of(metadata.configuration)
    schema, highest = assign_columns(schema, given, new_name(ids))
    if table.has_active(ICEBERG_V2):
        schema, highest = assign_nested_ids(schema, highest)
    told = {COLUMN_MAPPING_MAX_ID.name: str(highest)}
    return replace(
        metadata,
        schema_string=render_schema(schema),
        configuration={**metadata.configuration, **told},
    )


def with_protocol(
    base: ReadVersion,
    table: Described,
    metadata: Metadata,
    domains: tuple[DomainMetadata, ...],
) -> SchemaChange:
    """The change of `table`, which is `base` or what becomes of it first, with the features that
    it needs; raises `InvalidArgumentError` for one that only a person may enable."""
    before = {item.name for item in lacking_features(table)}
    after = Described(protocol=table.protocol, metadata=metadata)
    missing = [item.name for item in lacking_features(after) if item.name not in before]
    if wrong := [name for name in missing if name not in _BY_THEMSELVES]:
        raise InvalidArgumentError(
            f"The columns need the feature {', '.join(wrong)}, which the table does not support.",
            reason="Engines that do not know it could no longer use the table, so that it is not "
            "enabled by a write.",
            remedy=f"Enable it first: upgrade {' '.join(wrong)}.",
            spec="Table Features",
        )
    if domains and domains[0].domain == CLUSTERING_DOMAIN:
        missing.append("clustering")
    protocol = with_features(table.protocol, missing) if missing else table.protocol
    return SchemaChange(
        protocol=protocol,
        metadata=metadata,
        domains=domains,
        writes_protocol=protocol != base.protocol,
    )


# --- merging


@dataclass
class _Merging:
    """One walk over the columns of a table and those that come."""

    table: Described
    added: set[FieldPath] = field(default_factory=set)
    retyped: list[FieldPath] = field(default_factory=list)

    def structs(self, current: StructType, update: StructType, path: FieldPath) -> StructType:
        """The fields of the table, then those that are new."""
        incoming = {item.name.lower(): item for item in update.fields}
        fields = []
        for item in current.fields:
            other = incoming.pop(item.name.lower(), None)
            fields.append(item if other is None else self._field(item, other, path))
        for item in incoming.values():
            self._add((*path, item.name), item)
            fields.append(item)
        return StructType(fields=tuple(fields))

    def _field(self, current: StructField, update: StructField, path: FieldPath) -> StructField:
        here = (*path, current.name)
        changes: list[dict[str, str]] = []
        kind = self._types(current.data_type, update.data_type, here, (), changes)
        metadata: Mapping[str, Any] = current.metadata
        return replace(current, data_type=kind, metadata=with_recorded(metadata, changes))

    def _types(
        self,
        current: DataType,
        update: DataType,
        path: FieldPath,
        way: FieldPath,
        changes: list[dict[str, str]],
    ) -> DataType:
        match current, update:
            case StructType(), StructType():
                return self.structs(current, update, path)
            case ArrayType(element_type=ours), ArrayType(element_type=theirs):
                element = self._inside(ours, theirs, path, way, "element", changes)
                return replace(current, element_type=element)
            case MapType(), MapType():
                key = self._inside(current.key_type, update.key_type, path, way, "key", changes)
                ours, theirs = current.value_type, update.value_type
                value = self._inside(ours, theirs, path, way, "value", changes)
                return replace(current, key_type=key, value_type=value)
        if update in (VOID, current):
            return current
        if current == VOID:
            self.retyped.append(path)
            self._add_inside(path, update)
            return update
        if not (is_simple(current) and is_simple(update)):
            raise _mismatch(path, current, update)
        if not self._widens(current, update):
            return current
        self.retyped.append(path)
        changes.append(recorded_change(current, update, way))
        return update

    def _inside(
        self,
        current: DataType,
        update: DataType,
        path: FieldPath,
        way: FieldPath,
        step: str,
        changes: list[dict[str, str]],
    ) -> DataType:
        return self._types(current, update, (*path, step), (*way, step), changes)

    def _widens(self, current: DataType, update: DataType) -> bool:
        return (
            may_widen(self.table)
            and is_widened_by_appends(current, update)
            and is_taken_by_formats(self.table, current, update)
        )

    def _add(self, path: FieldPath, item: StructField) -> None:
        self.added.add(path)
        self._add_inside(path, item.data_type)

    def _add_inside(self, path: FieldPath, kind: DataType) -> None:
        wrapped = StructType(fields=(StructField(name="", data_type=kind),))
        self.added.update((*path, *place.names[1:]) for place in walk_fields(wrapped))


def _mismatch(path: FieldPath, current: DataType, update: DataType) -> InvalidArgumentError:
    shown = render_path(tuple(name[:60] for name in path[-6:]))
    kinds = [render_type(kind)[:120] for kind in (current, update)]
    return InvalidArgumentError(
        f"The column {shown} is {kinds[0]}, and its rows come as {kinds[1]}.",
        reason="Neither of the two types becomes the other.",
        remedy="Cast the column to the type that it has in the table, or give it another name.",
        kind="schema_mismatch",
        spec="Schema Serialization Format",
    )


# --- expressions of the table


def _check_constraints(table: Described, metadata: Metadata, data: StructType) -> None:
    names = {item.name.lower() for item in data.fields}
    for text in check_constraints(metadata.configuration).values():
        used = columns_spoken_of(text, table.schema, unread=frozenset())
        if gone := [name for name in sorted(used) if name.lower() not in names]:
            raise InvalidArgumentError(
                f"The constraint {text[:120]!r} speaks of {gone[0][:120]}, which would be gone.",
                reason="No row could be held against it any more.",
                remedy="Drop the constraint first, or keep the column.",
                spec="CHECK Constraints",
            )
    check_properties_of_columns(replace(metadata, configuration=_statistics(metadata)), data)


def _statistics(metadata: Metadata) -> dict[str, str]:
    """The properties without constraints, which were looked at as far as they can be read."""
    held = check_constraints(metadata.configuration)
    return {
        name: value
        for name, value in metadata.configuration.items()
        if name.partition("delta.constraints.")[2] not in held
    }


# --- overwriting


def _partitioning(
    table: Described,
    data: StructType,
    partition_by: Sequence[str] | None,
    cluster_by: Sequence[str] | None,
) -> tuple[str, ...]:
    if partition_by is None and cluster_by:
        return ()
    wanted = table.metadata.partition_columns if partition_by is None else partition_by
    return partition_names(wanted, data)


def _clustering(
    base: ReadVersion,
    table: Described,
    metadata: Metadata,
    cluster_by: Sequence[str] | None,
) -> tuple[DomainMetadata, ...]:
    """The domain where it is another one than before."""
    before = clustering_in(base.domains)
    if cluster_by is None:
        if not before:
            return ()
        if metadata.partition_columns:
            cluster_by = ()
        else:
            cluster_by = _names_of(before, table)
    if not cluster_by and not before:
        return ()
    wanted = clustering_of(cluster_by, table.protocol, metadata)
    return () if before == clustering_columns(wanted.configuration) else (wanted,)


def _names_of(paths: Sequence[FieldPath], table: Described) -> list[str]:
    """The clustering columns by the names that they have in the table."""
    known = {physical_path(place, table.mode): place.path for place in leaf_fields(table.schema)}
    return [known[path] for path in paths if path in known]
