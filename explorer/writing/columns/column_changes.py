"""Columns that a person adds, renames, drops or changes while the rows stay (spec: Column Mapping,
Type Widening, Default Columns, Schema Serialization Format).

Each function makes of the version that was read the one that is to be, and refuses what the
reference refuses. What every commit has to keep to is asked where it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from explorer.errors import InvalidArgumentError
from explorer.log.state.statistics_columns import listed_columns
from explorer.protocol.actions import FieldPath, Metadata
from explorer.protocol.features.clustering import clustering_in
from explorer.protocol.features.column_ids import has_column_ids, map_columns
from explorer.protocol.features.column_mapping import physical_path
from explorer.protocol.features.column_rules import DEFAULT_KEY, GENERATION_KEY, IDENTITY_KEYS
from explorer.protocol.features.evolution import with_features
from explorer.protocol.schema import (
    StructField,
    StructType,
    parse_schema,
)
from explorer.protocol.schema_walk import leaf_fields, parse_path, render_path, walk_fields
from explorer.protocol.table_properties.known_properties import STATS_COLUMNS
from explorer.rows.changes.change_range import CHANGE_COLUMNS
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.rules.change import Described
from explorer.writing.columns._lengths import lengths_of, with_lengths_kept
from explorer.writing.columns._type_change import with_type_changed
from explorer.writing.columns.added_columns import AddedColumn
from explorer.writing.columns.column_places import (
    Position,
    field_at,
    find_column,
    placed,
    type_at,
    with_fields_at,
)
from explorer.writing.schema.column_checks import (
    check_filled_columns,
    check_nested_nulls,
    check_new_columns,
    check_schema,
)
from explorer.writing.schema.expression_columns import check_no_expression
from explorer.writing.schema.new_ids import NewIds
from explorer.writing.schema.schema_change import (
    SchemaChange,
    described_version,
    with_ids,
    with_protocol,
)

_SHOWN: Final = 120
_COMMENT: Final = "comment"
_MAP_FIRST: Final = (
    "Map the columns with it (--map-columns, map_columns=True), or first: upgrade columnMapping. "
    "Engines that do not know column mapping can then no longer use the table."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedColumn:
    """What becomes of one column; None leaves a thing as it is.

    `data_type` is SQL such as `BIGINT` or `VARCHAR(20)`; `default` an expression, empty where
    the column is to have none.
    """

    data_type: str | None = None
    comment: str | None = None
    nullable: bool | None = None
    default: str | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """A change with the columns that it is about, by their paths afterwards, or before where
    they are dropped."""

    change: SchemaChange
    paths: tuple[FieldPath, ...]
    before: Described

    @property
    def after(self) -> Described:
        """The table after it."""
        return Described(protocol=self.change.protocol, metadata=self.change.metadata)

    def field(self, path: FieldPath) -> StructField | None:
        """The field at one of the paths afterwards."""
        return field_at(self.after.schema, path)


def add_columns(
    base: ReadVersion, added: Sequence[AddedColumn], *, ids: NewIds = uuid4
) -> ColumnChange:
    """Add columns, which are null in every row that is there.

    Raises `InvalidArgumentError` for a column that is there already, whatever its case, for one
    that no table may have, and for NOT NULL, defaults, generated and identity columns: rows that
    are there have no value.
    """
    table = described_version(base)
    schema, paths = table.schema, list[FieldPath]()
    for item in added:
        _check_added(item.field)
        way = find_column(schema, item.into) if item.into else ()
        schema = _with_added(schema, way, item)
        paths.append((*way, item.field.name))
        check_schema(schema)
    _check_new(schema, paths, table)
    return _changed(base, table, schema, paths, ids)


def rename_column(
    base: ReadVersion,
    name: str | Sequence[str],
    new_name: str,
    *,
    maps_columns: bool = False,
    ids: NewIds = uuid4,
) -> ColumnChange:
    """Rename a column; with `maps_columns` columns are mapped by name first.

    Raises `InvalidArgumentError` where columns are not mapped, where the new name is taken, and
    where a constraint, a generated column or an invariant speaks of the column.
    """
    before = described_version(base)
    table = _mapped(before, maps=maps_columns, what="renamed")
    schema = table.schema
    path = find_column(schema, name)
    if field_at(schema, path) is None:
        raise _no_field(path, "renamed")
    check_no_expression(table, [path], "The column {} would be renamed")
    _check_free(schema, path, new_name)
    to = (*path[:-1], new_name)
    renamed = with_fields_at(
        schema,
        path[:-1],
        lambda fields: tuple(
            replace(item, name=new_name) if item.name == path[-1] else item for item in fields
        ),
    )
    inner = path[1:]
    schema = with_lengths_kept(
        renamed,
        schema,
        path[:-1],
        way_of=lambda way: (*to[1:], *way[len(inner) :]) if way[: len(inner)] == inner else way,
    )
    check_schema(schema)
    _check_new(schema, [to], table)
    metadata = replace(
        table.metadata,
        partition_columns=tuple(
            new_name if (item,) == path else item for item in table.metadata.partition_columns
        ),
        configuration=_with_statistics_of(
            table.metadata, lambda way: (*to, *way[len(path) :]) if _begins(way, path) else way
        ),
    )
    changed = _changed(base, replace(table, metadata=metadata), schema, [to], ids)
    return replace(changed, before=before)


def _check_free(schema: StructType, path: FieldPath, name: str) -> None:
    inside = type_at(schema, path[:-1])
    names = inside.names if isinstance(inside, StructType) else ()
    taken = [item for item in names if item.lower() == name.lower()]
    if taken:
        raise InvalidArgumentError(
            f"There is a column {render_path((*path[:-1], taken[0]))[:_SHOWN]} already.",
            reason="Names of columns differ by more than upper and lower case.",
            remedy="Choose another name; for another case rename it twice.",
            kind="already_exists",
            spec="Schema Serialization Format",
        )


def drop_columns(
    base: ReadVersion,
    names: Collection[str | Sequence[str]],
    *,
    maps_columns: bool = False,
    ids: NewIds = uuid4,
) -> ColumnChange:
    """Drop columns; their values stay in the files that are there, and nobody finds them.

    Raises `InvalidArgumentError` where columns are not mapped, for the last column of the table
    or of a struct, for one that partitions the table or by which rows are clustered, and for one
    that a constraint, a generated column or an invariant speaks of.
    """
    before = described_version(base)
    table = _mapped(before, maps=maps_columns, what="dropped")
    metadata, schema = table.metadata, table.schema
    paths: list[FieldPath] = []
    for name in names:
        path = find_column(schema, name)
        if field_at(schema, path) is None:
            raise _no_field(path, "dropped")
        _check_unused(base, table, path)
        schema = _without(schema, path)
        paths.append(path)
    check_no_expression(table, paths, "The column {} would be dropped")
    kept = _with_statistics_of(
        metadata, lambda way: None if any(_begins(way, path) for path in paths) else way
    )
    table = replace(table, metadata=replace(metadata, configuration=kept))
    return replace(_changed(base, table, schema, paths, ids), before=before)


def change_column(
    base: ReadVersion, name: str | Sequence[str], wanted: ChangedColumn, *, ids: NewIds = uuid4
) -> ColumnChange:
    """Change the type, comment, nullability, default or place of a column, or the type of the
    elements of an array and of the keys and values of a map.

    That a column which may be null has no nulls is for the caller to look at, over all rows.

    Raises `InvalidArgumentError` for a type that is not wider than the one that is there or that
    the table does not allow (`delta.enableTypeWidening`), for a change of an identity or generated
    column that its numbers or its expression do not allow, and for what the reference refuses of
    elements, keys and values.
    """
    table = described_version(base)
    path = find_column(table.schema, name)
    field = field_at(table.schema, path)
    schema = table.schema
    if wanted.data_type is not None:
        schema = with_type_changed(table, path, wanted.data_type)
    if field is None:
        if wanted != ChangedColumn(data_type=wanted.data_type):
            raise _no_field(path, "given a comment, a default or a place, or made to allow nulls")
    else:
        _check_filled(field, wanted, path)
        schema = with_fields_at(
            schema, path[:-1], lambda fields: _with_field(fields, path[-1], wanted)
        )
        if wanted.default:
            changed = field_at(schema, path)
            if changed is not None:
                check_filled_columns(
                    StructType(fields=(changed,)) if len(path) == 1 else schema, ()
                )
    before = table
    if wanted.nullable is False:
        # the reference counts NOT NULL among them
        table = replace(table, protocol=with_features(table.protocol, ["invariants"]))
    if wanted.nullable is False and any(
        step in {"element", "key", "value"} and field_at(table.schema, path[: at + 1]) is None
        for at, step in enumerate(path)
    ):
        check_nested_nulls(schema)
    return replace(_changed(base, table, schema, [path], ids), before=before)


# --- what every change shares


def _changed(
    base: ReadVersion,
    table: Described,
    schema: StructType,
    paths: Sequence[FieldPath],
    ids: NewIds,
) -> ColumnChange:
    metadata = table.metadata
    if schema != parse_schema(metadata.schema_string):
        metadata = with_ids(table, schema, ids)
    return ColumnChange(
        change=with_protocol(base, table, metadata, ()), paths=tuple(paths), before=table
    )


def _mapped(table: Described, *, maps: bool, what: str) -> Described:
    if table.mode != "none":
        return table
    if not maps:
        raise InvalidArgumentError(
            f"No column can be {what}: the table maps no columns.",
            reason="Data files name their columns, and those that are there have the name of now.",
            remedy=_MAP_FIRST,
            spec="Column Mapping",
        )
    if has_column_ids(table.schema):
        raise InvalidArgumentError(
            "The columns cannot be mapped.",
            reason="They have ids or physical names of an earlier mapping, and it is unknown which "
            "files were written with them.",
            remedy="Rewrite the table: write(…, mode='overwrite', overwrite_schema=True).",
            spec="Column Mapping",
        )
    return Described(
        protocol=with_features(table.protocol, ["columnMapping"]),
        metadata=map_columns(table.metadata),
    )


def _begins(way: FieldPath, path: FieldPath) -> bool:
    """Whether a way leads through a path, whatever the case."""
    return [step.lower() for step in way[: len(path)]] == [step.lower() for step in path]


def _with_statistics_of(
    metadata: Metadata, way_of: Callable[[FieldPath], FieldPath | None]
) -> Mapping[str, str]:
    """The properties, of which one may name the columns that statistics are kept of."""
    named = STATS_COLUMNS.value_of(metadata.configuration)
    if named is None:
        return metadata.configuration
    listed = listed_columns(named)
    former = [parse_path(text) for text in listed]
    ways = [way_of(path) for path in former]
    if ways == former:
        return metadata.configuration
    shown = ",".join(
        text if way == path else render_path(way)
        for text, path, way in zip(listed, former, ways, strict=True)
        if way is not None
    )
    if shown:
        return {**metadata.configuration, STATS_COLUMNS.name: shown}
    # a list without a name would mean that no statistics are kept, which nobody asked for
    others = metadata.configuration.items()
    return {name: text for name, text in others if name != STATS_COLUMNS.name}


def _no_field(path: FieldPath, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{render_path(path)[:_SHOWN]} cannot be {what}.",
        reason="The elements of an array, and the keys and values of a map, have no name of "
        "their own, and nothing but a type.",
        remedy="Name a column, or a field of a struct.",
        spec="Schema Serialization Format",
    )


# --- added


def _with_added(schema: StructType, way: FieldPath, item: AddedColumn) -> StructType:
    field = item.field
    lengths = lengths_of(field).items()
    return with_lengths_kept(
        with_fields_at(
            schema, way, lambda fields: placed(fields, field, item.position, len(fields))
        ),
        schema,
        way,
        added={(*way[1:], field.name, *inner): text for inner, text in lengths},
    )


def _check_added(field: StructField) -> None:
    shown = field.name[:_SHOWN]
    wrapped = StructType(fields=(field,))
    if any(not place.field.nullable for place in walk_fields(wrapped)):
        raise _refused_added(
            shown,
            "NOT NULL",
            "Rows that are there have no value.",
            "Add it without, fill it, and say NOT NULL afterwards: column change NAME --not-null.",
            "Schema Serialization Format",
        )
    if DEFAULT_KEY in field.metadata:
        raise _refused_added(
            shown,
            "a default",
            "The specification forbids it in one command: rows that are there would have to be "
            "told whether they get it.",
            "Add it without, and set the default afterwards: column change NAME --default VALUE.",
            "Default Columns",
        )
    if GENERATION_KEY in field.metadata or any(
        key.startswith(IDENTITY_KEYS) for key in field.metadata
    ):
        raise _refused_added(
            shown,
            "values that the table makes",
            "Rows that are there have none.",
            "Such columns are named when a table is created.",
            "Generated Columns",
        )


def _refused_added(
    name: str, what: str, reason: str, remedy: str, spec: str
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The column {name} cannot be added with {what}.", reason=reason, remedy=remedy, spec=spec
    )


def _check_new(schema: StructType, paths: Sequence[FieldPath], table: Described) -> None:
    new = [
        place
        for place in walk_fields(schema)
        if any(place.names[: len(path)] == path for path in paths)
    ]
    check_new_columns(new, table.mode)
    if table.has_active("changeDataFeed"):
        for place in new:
            if not place.parents and place.field.name.lower() in CHANGE_COLUMNS:
                raise InvalidArgumentError(
                    f"No column can be called {place.field.name}.",
                    reason="The change data feed is enabled, and has a column of that name itself.",
                    remedy="Choose another name.",
                    spec="Add CDC File",
                )


# --- dropped


def _check_unused(base: ReadVersion, table: Described, path: FieldPath) -> None:
    if len(path) == 1 and path[0] in table.metadata.partition_columns:
        raise InvalidArgumentError(
            f"{path[0][:_SHOWN]} cannot be dropped.",
            reason="The table is partitioned by it.",
            remedy="Write the rows into another table, or overwrite it with other partitions.",
            spec="Change Metadata",
        )
    clustering = clustering_in(base.domains)
    names = {physical_path(place, table.mode): place.names for place in leaf_fields(table.schema)}
    for way in clustering:
        if way in names and names[way][: len(path)] == path:
            raise InvalidArgumentError(
                f"{render_path(path)[:_SHOWN]} cannot be dropped.",
                reason=f"The table is clustered by {render_path(names[way])[:_SHOWN]}.",
                remedy="Cluster it by others first: cluster-by TABLE COLUMN..., or --none.",
                spec="Clustered Table",
            )


def _without(schema: StructType, path: FieldPath) -> StructType:
    def left(fields: tuple[StructField, ...]) -> tuple[StructField, ...]:
        if len(fields) == 1:
            where = f"{render_path(path[:-1])[:_SHOWN]}" if path[:-1] else "the table"
            raise InvalidArgumentError(
                f"{render_path(path)[:_SHOWN]} cannot be dropped.",
                reason=f"It is the last column of {where}.",
                remedy=f"Drop {where} instead." if path[:-1] else "Keep one column.",
                spec="Schema Serialization Format",
            )
        return tuple(item for item in fields if item.name != path[-1])

    inner = path[1:]
    return with_lengths_kept(
        with_fields_at(schema, path[:-1], left),
        schema,
        path[:-1],
        way_of=lambda way: None if way[: len(inner)] == inner else way,
    )


# --- changed


def _check_filled(field: StructField, wanted: ChangedColumn, path: FieldPath) -> None:
    shown = render_path(path)[:_SHOWN]
    counts = any(key.startswith(IDENTITY_KEYS) for key in field.metadata)
    others = (wanted.data_type, wanted.nullable, wanted.default)
    if counts and others != (None, None, None):
        raise InvalidArgumentError(
            f"The identity column {shown} cannot be changed so.",
            reason="Its numbers are made by the rule of its creation; only its name, its comment "
            "and its place can change.",
            remedy="Leave type, nullability and default as they are.",
            spec="Identity Columns",
        )
    if GENERATION_KEY in field.metadata and wanted.data_type is not None:
        raise InvalidArgumentError(
            f"The type of the generated column {shown} cannot be changed.",
            reason="It is the type of the expression that makes the column.",
            remedy="Leave the type as it is.",
            spec="Generated Columns",
        )


def _with_field(
    fields: tuple[StructField, ...], name: str, wanted: ChangedColumn
) -> tuple[StructField, ...]:
    at = next(at for at, item in enumerate(fields) if item.name == name)
    item = fields[at]
    metadata = dict(item.metadata)
    if wanted.comment is not None:
        metadata[_COMMENT] = wanted.comment
    if wanted.default is not None:
        metadata.pop(DEFAULT_KEY, None)
        if wanted.default:
            metadata[DEFAULT_KEY] = wanted.default
    nullable = item.nullable if wanted.nullable is None else wanted.nullable
    item = replace(item, metadata=metadata, nullable=nullable)
    others = (*fields[:at], *fields[at + 1 :])
    return placed(others, item, wanted.position, at)
