"""The verbs that change the columns of a table, and by which of them its rows lie together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import explorer
from explorer.errors import InvalidArgumentError
from explorer.progress import ProgressCallback

Action = Annotated[
    str | None,
    typer.Argument(metavar="add|rename|drop|change", help="What to do."),
]
Asked = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORDS...",
        help="add: the columns as in SQL. rename: the column and its new name. drop: columns. "
        "change: the column.",
    ),
]
MapColumns = Annotated[
    bool,
    typer.Option(
        "--map-columns",
        help="rename, drop: enable column mapping too, where the table has none.",
    ),
]
DataType = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="change: a wider type, such as BIGINT."),
]
Comment = Annotated[
    str | None, typer.Option("--comment", metavar="TEXT", help="change: the comment.")
]
Default = Annotated[
    str | None,
    typer.Option("--default", metavar="EXPR", help="change: the value where a row has none."),
]
NoDefault = Annotated[bool, typer.Option("--no-default", help="change: take the default away.")]
NotNull = Annotated[
    bool, typer.Option("--not-null", help="change: no row may be null; all are checked first.")
]
Nullable = Annotated[bool, typer.Option("--nullable", help="change: rows may be null.")]
IsFirst = Annotated[bool, typer.Option("--first", help="change: put it before all others.")]
Behind = Annotated[
    str | None, typer.Option("--after", metavar="NAME", help="change: put it behind this one.")
]
Columns = Annotated[
    list[str] | None,
    typer.Argument(metavar="COLUMN...", help="The columns, the most important one first."),
]
ByNone = Annotated[bool, typer.Option("--none", help="By no column any more.")]


# The planners import theirs inside: `--help` does without Arrow.


def plan_column(  # noqa: PLR0913  # the options of a command
    table: explorer.Table,
    action: Action = None,
    asked: Asked = None,
    *,
    data_type: DataType = None,
    comment: Comment = None,
    default: Default = None,
    no_default: NoDefault = False,
    not_null: NotNull = False,
    nullable: Nullable = False,
    first: IsFirst = False,
    after: Behind = None,
    map_columns: MapColumns = False,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Add, rename, drop or change columns.

    No file is rewritten. Columns are named by their path: place.city, tags.element.name.

    Example: delta-explorer column ./orders add "place.zip INT COMMENT 'code' AFTER city"
    """
    from explorer.inspect.engine_support.lost_engines import losses_sentence  # noqa: PLC0415  # see above
    from explorer.maintenance.columns import column_plans  # noqa: PLC0415  # see above

    del state_dir
    words = asked or []
    changes: dict[str, Any] = {
        "data_type": data_type,
        "comment": comment,
        "nullable": _nullable(not_null=not_null, nullable=nullable),
        "default": _default(default, no_default=no_default),
        "first": first,
        "after": after,
    }
    is_change = any(value is not None and value is not False for value in changes.values())
    is_change = is_change or not_null
    watched: dict[str, Any] = {"losers": losses_sentence, "progress": progress}
    match action, words:
        case "add", [text] if not is_change and not map_columns:
            return column_plans.plan_add_columns(table, text, **watched)
        case "rename", [column, name] if not is_change:
            return column_plans.plan_rename_column(
                table, column, name, map_columns=map_columns, **watched
            )
        case "drop", [_, *_] if not is_change:
            return column_plans.plan_drop_columns(table, words, map_columns=map_columns, **watched)
        case "change", [column] if not map_columns:
            return column_plans.plan_change_column(table, column, **changes, **watched)
    raise InvalidArgumentError(
        "The arguments do not say what to do with which column.",
        reason="add takes columns as one text of SQL, rename a column and a name, drop columns, "
        "change one column and what is to change; --map-columns is for rename and drop.",
        remedy="See column --help, or write --apply DIGEST.",
    )


def plan_cluster_by_verb(
    table: explorer.Table,
    columns: Columns = None,
    *,
    by_none: ByNone = False,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Choose the columns by which rows are kept together.

    Files stay as they are until optimize rewrites them.

    Example: delta-explorer cluster-by ./orders customer day
    """
    from explorer.inspect.engine_support.lost_engines import losses_sentence  # noqa: PLC0415  # see above
    from explorer.maintenance.columns.cluster_plan import plan_cluster_by  # noqa: PLC0415  # as above

    del state_dir
    if bool(columns) == by_none:
        raise InvalidArgumentError(
            "The arguments do not say by which columns.",
            reason="Either columns are named, or --none says that there are to be none.",
            remedy="Name columns, or write --none, or --apply DIGEST.",
        )
    return plan_cluster_by(table, columns or (), losers=losses_sentence, progress=progress)


def _nullable(*, not_null: bool, nullable: bool) -> bool | None:
    if not_null and nullable:
        raise _both("--not-null", "--nullable")
    return True if nullable else False if not_null else None


def _default(text: str | None, *, no_default: bool) -> str | None:
    if no_default and text is not None:
        raise _both("--default", "--no-default")
    if text is not None and not text.strip():
        raise InvalidArgumentError(
            "The default is empty.",
            reason="It has to be an expression of SQL.",
            remedy="Write it as 0 or 'text', or use --no-default.",
        )
    return "" if no_default else text


def _both(one: str, other: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{one} and {other} cannot be meant together.",
        reason="The one takes back the other.",
        remedy="Leave out one of them.",
    )
