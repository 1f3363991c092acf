"""Planning to add, rename, drop and change columns (spec: Change Metadata, Column Mapping, Type
Widening, Default Columns)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid4, uuid5

import orjson

from explorer.errors import InvalidArgumentError
from explorer.maintenance.columns._schema_plan import Losers, RowRule, SchemaPlan, build_plan
from explorer.maintenance.plan.plan import Plan, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.pipeline import find_violations
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import FieldPath
from explorer.protocol.character_types import character_types
from explorer.protocol.features.column_rules import DEFAULT_KEY
from explorer.protocol.features.type_widening import TYPE_CHANGES_KEY
from explorer.protocol.schema import (
    CHARACTER_TYPE_KEY,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    render_spark_type,
    render_type,
)
from explorer.protocol.schema_walk import render_path
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock
from explorer.transaction.read_version import read_version_of
from explorer.transaction.rules.change import Described
from explorer.transaction.rules.row_rules import not_null_rule
from explorer.writing.columns.added_columns import AddedColumn, parse_added_columns
from explorer.writing.columns.column_changes import (
    ChangedColumn,
    ColumnChange,
    add_columns,
    change_column,
    drop_columns,
    rename_column,
)
from explorer.writing.columns.column_places import (
    After,
    First,
    Position,
    field_at,
    find_column,
    type_at,
)

_SHOWN: Final = 120
ColumnName = str | Sequence[str]
"""A column by its name or field path: `place.city`, or the list of its names."""


def plan_add_columns(  # noqa: PLR0913  # what is added, who looks on, what makes it repeatable
    table: Table,
    columns: str | Sequence[AddedColumn],
    *,
    losers: Losers | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Add columns, which are null in every row that is there.

    `columns` are as in `ALTER TABLE … ADD COLUMNS` of Spark's SQL:
    `place.zip INT COMMENT 'code' AFTER city, note STRING FIRST`.

    Raises what `parse_added_columns` and `add_columns` raise.
    """
    added = parse_added_columns(columns) if isinstance(columns, str) else tuple(columns)
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    made_with = seed or uuid4()
    found = add_columns(read_version_of(context.snapshot), added, ids=_SeededIds(made_with))
    names = _shown(found.paths)
    told = [
        {"column": _described(path, _as_given(item.field))} | _position_told(item.position)
        for path, item in zip(found.paths, added, strict=True)
    ]
    wanted = _schema_plan(
        found,
        operation="ADD COLUMNS",
        commit_parameters={"columns": _json(told)},
        reason=f"Adds {names}.",
        summary=f"Adds {names}: null in every row that is there.",
        parameters={
            "action": "add",
            "asked": [columns.strip() if isinstance(columns, str) else names],
        },
        undo=f"drop {names} again, which needs column mapping",
    )
    return build_plan(context, wanted, seed=made_with, losers=losers)


def plan_rename_column(  # noqa: PLR0913  # what is renamed, who looks on, what makes it repeatable
    table: Table,
    column: ColumnName,
    new_name: str,
    *,
    map_columns: bool = False,
    losers: Losers | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Rename a column; no file is written again. With `map_columns` column mapping is enabled in
    the same commit, where the table has none.

    Raises what `rename_column` raises.
    """
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    made_with = seed or uuid4()
    base = read_version_of(context.snapshot)
    found = rename_column(
        base, column, new_name, maps_columns=map_columns, ids=_SeededIds(made_with)
    )
    former = find_column(context.snapshot.schema, column)
    old, new = render_path(former), render_path(found.paths[0])
    wanted = _schema_plan(
        found,
        operation="RENAME COLUMN",
        commit_parameters={
            "oldColumnPath": _told(former),
            "newColumnPath": _told(found.paths[0]),
        },
        reason=f"Renames {old[:_SHOWN]}.",
        summary=f"Renames {old[:_SHOWN]} to {new[:_SHOWN]}; no file is rewritten.",
        parameters={
            "action": "rename",
            "asked": [old, new_name],
            "map_columns": map_columns,
        },
        undo=f"rename {new[:_SHOWN]} back",
        warnings=_readers_stop(context.snapshot, "renamed"),
    )
    return build_plan(context, wanted, seed=made_with, losers=losers)


def plan_drop_columns(  # noqa: PLR0913  # what is dropped, who looks on, what makes it repeatable
    table: Table,
    columns: Sequence[ColumnName],
    *,
    map_columns: bool = False,
    losers: Losers | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Drop columns; no file is written again, and their values stay in the files until these are
    rewritten and vacuumed. `map_columns` as in `plan_rename_column`.

    Raises what `drop_columns` raises.
    """
    if not columns:
        raise InvalidArgumentError(
            "No column is named.", reason="There is nothing to drop.", remedy="Name one."
        )
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    made_with = seed or uuid4()
    base = read_version_of(context.snapshot)
    found = drop_columns(base, columns, maps_columns=map_columns, ids=_SeededIds(made_with))
    paths = [render_path(path) for path in found.paths]
    names = _shown(found.paths)
    wanted = _schema_plan(
        found,
        operation="DROP COLUMNS",
        commit_parameters={"columns": _json([_told(path) for path in found.paths])},
        reason=f"Drops {names}.",
        summary=f"Drops {names}. No file is rewritten: the values stay in the files until "
        "optimize --purge or another rewrite, and vacuum.",
        parameters={"action": "drop", "asked": paths, "map_columns": map_columns},
        undo=f"restore version {context.snapshot.version}",
        warnings=_readers_stop(context.snapshot, "dropped"),
    )
    return build_plan(context, wanted, seed=made_with, losers=losers)


def plan_change_column(  # noqa: PLR0913  # what is changed, who looks on, what makes it repeatable
    table: Table,
    column: ColumnName,
    *,
    data_type: str | None = None,
    comment: str | None = None,
    nullable: bool | None = None,
    default: str | None = None,
    first: bool = False,
    after: str | None = None,
    spark: Any = None,
    losers: Losers | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Change a column: `data_type` as in SQL, `comment`, whether it may be null, its `default` (an
    empty text: none), its place. What is None stays as it is.

    With `nullable=False` every row is looked at on Spark before the commit; with `spark` the rows
    are looked at while planning too, and those that are null refuse the plan.

    Raises what `change_column` raises, and `InvalidArgumentError` where nothing is asked for.
    """
    position = _position(first, after)
    wanted = ChangedColumn(
        data_type=data_type, comment=comment, nullable=nullable, default=default, position=position
    )
    if wanted == ChangedColumn():
        raise InvalidArgumentError(
            "Nothing of the column is to be changed.",
            reason="Neither a type nor a comment, nullability, default or place is given.",
            remedy="Say what is to change.",
        )
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    made_with = seed or uuid4()
    base = read_version_of(context.snapshot)
    found = change_column(base, column, wanted, ids=_SeededIds(made_with))
    path = found.paths[0]
    schemas = found.before.schema, found.after.schema
    name = render_path(path)
    item = found.field(path) or StructField(name=path[-1], data_type=type_at(schemas[1], path))
    if isinstance(position, After):
        position = After(find_column(schemas[0], (*path[:-1], position.name))[-1])
    plan = _schema_plan(
        found,
        operation="CHANGE COLUMN",
        commit_parameters={
            "column": _json(_described(path, _without_changes(item))),
            **_position_told(position),
        },
        reason=f"Changes {name[:_SHOWN]}.",
        summary=f"Changes {name[:_SHOWN]}: {_differences(schemas, path, position)}.",
        parameters={
            "action": "change",
            "asked": [name],
            "data_type": None if data_type is None else data_type.strip(),
            "comment": comment,
            "nullable": nullable,
            "default": default,
            "first": first,
            "after": after,
        },
        undo=_way_back(schemas[0], path),
        warnings=_judge_rows(context, schemas, path, spark),
    )
    plan = replace(plan, rules=_rules(schemas, path))
    return build_plan(context, plan, seed=made_with, losers=losers)


def _schema_plan(  # noqa: PLR0913  # what becomes of it, and how each reader is told
    found: ColumnChange,
    *,
    operation: str,
    commit_parameters: Mapping[str, str],
    reason: str,
    summary: str,
    parameters: Mapping[str, Any],
    undo: str,
    warnings: tuple[Verdict, ...] = (),
) -> SchemaPlan:
    before, after = found.before, found.after
    return SchemaPlan(
        kind="column",
        before=before,
        after=after,
        operation=operation,
        commit_parameters=commit_parameters,
        reason=reason,
        summary=summary,
        parameters=parameters,
        effect={
            "maps_columns": before.mode == "none" and after.mode != "none",
            "undo": undo,
        },
        warnings=warnings,
    )


class _SeededIds:
    """New ids and names that follow from a seed: planned twice, they are the same."""

    def __init__(self, seed: UUID) -> None:
        self._seed, self._given = seed, 0

    def __call__(self) -> UUID:
        self._given += 1
        return uuid5(self._seed, f"column {self._given}")


def _position(first: bool, after: str | None) -> Position | None:  # noqa: FBT001  # as in SQL
    if first and after is not None:
        raise InvalidArgumentError(
            "A column is given two places.",
            reason="It cannot be first and behind another one.",
            remedy="Give one of them.",
        )
    return First() if first else None if after is None else After(after)


def _position_told(position: Position | None) -> dict[str, str]:
    """As the reference writes it."""
    match position:
        case None:
            return {}
        case First():
            return {"position": "FIRST"}
        case After(name=name):
            return {"position": f"AFTER {_told((name,))}"}


def _described(path: FieldPath, item: StructField) -> dict[str, Any]:
    """As `operationParameters` of the reference have a column."""
    return {
        "name": _told(path),
        "type": _type_name(item.data_type),
        "nullable": item.nullable,
        "metadata": dict(item.metadata),
    }


def _told(path: FieldPath) -> str:
    """A path as the reference writes it into a commit: a name in backticks only for its dots."""
    return ".".join(f"`{name}`" if "." in name else name for name in path)


def _as_given(item: StructField) -> StructField:
    """As the reference tells of a column that is added: its type as in SQL, also of text."""
    lengths = character_types(item) or {}
    if () not in lengths:
        return item
    kept = {key: value for key, value in item.metadata.items() if key != CHARACTER_TYPE_KEY}
    return replace(item, data_type=PrimitiveType(name=lengths[()].text), metadata=kept)


def _without_changes(item: StructField) -> StructField:
    """As the reference tells of a column that is changed: without the record of its types."""
    kept = {key: value for key, value in item.metadata.items() if key != TYPE_CHANGES_KEY}
    if TYPE_CHANGES_KEY not in item.metadata:
        return item
    return replace(item, metadata=kept)


def _type_name(kind: DataType) -> str:
    match kind:
        case StructType():
            return "struct"
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case _:
            return render_type(kind)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _shown(paths: Sequence[FieldPath]) -> str:
    texts = [render_path(path)[:60] for path in paths[:8]]
    more = len(paths) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _readers_stop(snapshot: Snapshot, what: str) -> tuple[Verdict, ...]:
    """Who reads across the change and cannot go on by himself."""
    table = Described(protocol=snapshot.protocol, metadata=snapshot.metadata)
    more = (
        " So does Delta Spark with a range of the change data feed across this version."
        if table.has_active("changeDataFeed")
        else ""
    )
    return (
        Verdict(
            guard="columns",
            outcome="warn",
            message=f"Streams of Delta Spark that read the table stop where a column is {what}, "
            f"unless they have a schemaTrackingLocation.{more}",
            remedy="Let them catch up first.",
        ),
    )


# --- changes of one column


def _differences(
    schemas: tuple[StructType, StructType], path: FieldPath, position: Position | None
) -> str:
    old, new = (field_at(schema, path) for schema in schemas)
    kinds = [render_spark_type(type_at(schema, path), {})[:_SHOWN] for schema in schemas]
    parts = [f"{kinds[0]} becomes {kinds[1]}"] if kinds[0] != kinds[1] else []
    if old is not None and new is not None:
        if old.nullable != new.nullable:
            parts.append("it may be null" if new.nullable else "it may not be null")
        held, told = old.metadata, new.metadata
        if held.get(DEFAULT_KEY) != told.get(DEFAULT_KEY):
            default = told.get(DEFAULT_KEY)
            parts.append(
                "it has no default" if default is None else f"its default is {default[:_SHOWN]}"
            )
        if held.get("comment") != told.get("comment"):
            parts.append(f"its comment is {str(told.get('comment'))[:_SHOWN]!r}")
    match position:
        case First():
            parts.append("it comes first")
        case After(name=name):
            parts.append(f"it comes after {name[:_SHOWN]}")
        case None:
            pass
    return ", ".join(parts) or "the length of its text"


def _way_back(schema: StructType, path: FieldPath) -> str:
    """What the column was, as far as it can be set back."""
    item = field_at(schema, path)
    kind = render_spark_type(type_at(schema, path), {})[:_SHOWN]
    if item is None:
        return f"it was {kind}; a wider type does not become narrow again"
    said = [kind, "" if item.nullable else "not null"]
    if DEFAULT_KEY in item.metadata:
        said.append(f"default {item.metadata[DEFAULT_KEY]}"[:_SHOWN])
    was = ", ".join(part for part in said if part)
    return f"change it back: it was {was}; a wider type does not become narrow again"


def _condition(path: FieldPath) -> str:
    return ".".join(f"`{step.replace('`', '``')}`" for step in path) + " IS NOT NULL"


def _rules(schemas: tuple[StructType, StructType], path: FieldPath) -> tuple[RowRule, ...]:
    old, new = (field_at(schema, path) for schema in schemas)
    if old is None or new is None or new.nullable or not old.nullable:
        return ()
    name = render_path(path)
    return (
        RowRule(
            rule=not_null_rule(name), name=f"{name[:_SHOWN]} NOT NULL", condition=_condition(path)
        ),
    )


def _judge_rows(
    context: PlanningContext,
    schemas: tuple[StructType, StructType],
    path: FieldPath,
    spark: Any,
) -> tuple[Verdict, ...]:
    if spark is None or not _rules(schemas, path):
        return ()
    name = render_path(path)[:_SHOWN]
    found = find_violations(context.snapshot, _condition(path), spark, watch=context.watch)
    if not found.count:
        return (Verdict(guard="rows", outcome="allow", message=f"No row has a null in {name}."),)
    return (
        Verdict(
            guard="rows",
            outcome="refuse",
            message=f"{count(found.count, 'row')} of version {context.snapshot.version} "
            f"{'has' if found.count == 1 else 'have'} no {name}.",
            remedy="Give them a value or delete them first.",
        ),
    )
