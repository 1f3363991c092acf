"""`delete` and `update`: rows of a table that go, or get new values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from explorer.cli.arguments.maintenance_options import Confirm, repeated_options
from explorer.cli.arguments.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Uri,
    parse_storage_options,
)
from explorer.cli.arguments.writing_options import (
    ApplyWrite,
    UserMetadata,
    WrittenBy,
    watched_write,
)
from explorer.cli.printing.change_printing import print_change_plan, print_change_result
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.writing_printing import command_words
from explorer.errors import InvalidArgumentError

if TYPE_CHECKING:
    from explorer.pipeline.planned_writes.change_plan import ChangeRequest

Where = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="SQL", help="Only the rows for which this is true; without it all rows."
    ),
]
Set = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="COLUMN=SQL",
        help="A new value, by an expression over the row as it was; may be repeated.",
    ),
]
Count = Annotated[
    bool,
    typer.Option(
        "--count",
        help="Read the files: say how many rows match, and show the first of them, before and "
        "after.",
    ),
]
UsedEngine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="auto, local or spark; auto takes Spark only for what this process cannot do, and "
        "for many bytes.",
    ),
]


def delete(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    where: Where = None,
    count: Count = False,
    engine: UsedEngine = "auto",
    user_metadata: UserMetadata = None,
    by: WrittenBy = None,
    apply: ApplyWrite = None,
    confirm: Confirm = None,
    option: StorageOptions = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Delete rows of a table.

    The plan says in which files they are, how many they are at least and at most, and how they
    leave their files. It stands for one version. To delete every row, type the table's name.

    Example: delta-explorer delete ./orders --where "status = 'failed'"
    """
    _change(
        "delete",
        uri,
        {"where": where, "set": None, "count": count, "engine": engine},
        {"user_metadata": user_metadata, "by": by, "option": option},
        {"apply": apply, "confirm": confirm, "limit": limit, "as_json": as_json},
    )


def update(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    set_values: Set,
    where: Where = None,
    count: Count = False,
    engine: UsedEngine = "auto",
    user_metadata: UserMetadata = None,
    by: WrittenBy = None,
    apply: ApplyWrite = None,
    option: StorageOptions = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Give rows of a table new values.

    The plan says in which files the rows are, how many they are at least and at most, and how
    they leave these files. It stands for one version. Rules of the table are asked of the new
    rows, with --apply; a row that breaks one is told, and nothing is committed.

    Example: delta-explorer update ./orders --set "price=price * 1.1" --where "id = 7"
    """
    _change(
        "update",
        uri,
        {"where": where, "set": set_values, "count": count, "engine": engine},
        {"user_metadata": user_metadata, "by": by, "option": option},
        {"apply": apply, "confirm": None, "limit": limit, "as_json": as_json},
    )


def _change(
    verb: str, uri: str, asked: dict[str, Any], said: dict[str, Any], how: dict[str, Any]
) -> None:
    # they bring Arrow, which `--help` does without
    from explorer.pipeline.planned_writes.change_plan import (  # noqa: PLC0415  # see above
        carry_out_change,
        plan_change,
    )

    request = _request(asked, said)
    storage_options = parse_storage_options(said["option"])
    with watched_write() as watch:
        if how["apply"] is not None:
            result = carry_out_change(
                uri,
                request,
                how["apply"],
                confirm=how["confirm"],
                storage_options=storage_options,
                watch=watch,
            )
        else:
            plan = plan_change(
                uri, request, looks=asked["count"], storage_options=storage_options, watch=watch
            )
    if how["apply"] is not None:
        print_change_result(result, uri, as_json=how["as_json"])
        return
    limit = SCREENFUL if how["limit"] is None else how["limit"]
    if how["as_json"]:
        print_document({**plan.document, "files": plan.files.slice(0, limit).to_pylist()})
        return
    options = [
        ("--set", asked["set"]),
        ("--where", asked["where"]),
        ("--engine", None if asked["engine"] == "auto" else asked["engine"]),
        ("--user-metadata", said["user_metadata"]),
        ("--confirm", "NAME" if plan.is_everything else None),
    ]
    words = command_words(verb, [plan.uri], options)
    words += repeated_options(None, said["option"], said["by"])
    print_change_plan(plan, words, limit)


def _request(asked: dict[str, Any], said: dict[str, Any]) -> ChangeRequest:
    from explorer.pipeline.planned_writes.change_plan import ChangeRequest  # noqa: PLC0415  # Arrow
    from explorer.writing.statements.change_statement import ChangeOptions  # noqa: PLC0415  # as above

    return ChangeRequest(
        where=asked["where"],
        values=None if asked["set"] is None else parse_values(asked["set"]),
        options=ChangeOptions(user_metadata=said["user_metadata"], user_name=said["by"]),
        engine=cast("Any", asked["engine"]),
    )


def parse_values(pairs: list[str]) -> dict[str, str]:
    """`["price=price * 1.1", …]` by the names of columns; one in backticks may hold an equals sign.
    Raises `InvalidArgumentError`, also for a name that is given twice."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, value = _parted(pair)
        if not name or not value:
            raise InvalidArgumentError(
                f"{pair[:60]!r} sets no column.",
                reason="A new value is COLUMN=SQL.",
                remedy="Write it as --set 'price=price * 1.1', a text as --set \"country='DE'\".",
            )
        if name in found:
            raise InvalidArgumentError(
                f"{name[:60]!r} is set twice.",
                reason="A column can only get one value.",
                remedy="Leave out one of them.",
            )
        found[name] = value
    return found


def _parted(pair: str) -> tuple[str, str]:
    quoted = False
    for at, sign in enumerate(pair):
        if sign == "`":
            quoted = not quoted
        elif sign == "=" and not quoted:
            return pair[:at].strip(), pair[at + 1 :].strip()
    return "", ""
