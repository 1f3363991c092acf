"""`clone`: a table that begins with the files of another one."""

from __future__ import annotations

from typing import Annotated

import typer

from explorer.cli.arguments.maintenance_options import repeated_options
from explorer.cli.arguments.options import (
    AsJson,
    StorageOptions,
    Timestamp,
    Uri,
    parse_pairs,
    parse_storage_options,
)
from explorer.cli.arguments.writing_options import (
    ApplyWrite,
    UserMetadata,
    WrittenBy,
    watched_write,
)
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.writing_printing import command_words, print_clone_plan, print_result
from explorer.inspect.answer import check_one_point_in_time

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="The table whose rows the clone begins with.")
]
Version = Annotated[
    int | None,
    typer.Option(
        "--version", "-v", metavar="N", help="The source's version; by default the newest."
    ),
]
ClonedProperties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        metavar="KEY=VALUE",
        help="A property of the clone, beside the source's or in place of one; may be repeated.",
    ),
]


def clone(  # noqa: PLR0913  # the options of a command
    source: Source,
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    properties: ClonedProperties = None,
    user_metadata: UserMetadata = None,
    by: WrittenBy = None,
    apply: ApplyWrite = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Make a shallow clone of a table.

    It has the rows of one version by the same files, which stay where they are: a vacuum of the
    source may delete them. The command that is printed names the version.

    Example: delta-explorer clone ./orders ./trial --version 12
    """
    # they bring Arrow, which `--help` does without
    from explorer.pipeline.planned_writes.clone_plan import (  # noqa: PLC0415  # see above
        CloneRequest,
        carry_out_clone,
        plan_clone,
    )

    check_one_point_in_time(version, timestamp)
    request = CloneRequest(
        source=source,
        version=version,
        timestamp=timestamp,
        properties=parse_pairs(properties or []),
        user_name=by,
        user_metadata=user_metadata,
    )
    storage_options = parse_storage_options(option)
    with watched_write() as watch:
        if apply is not None:
            result = carry_out_clone(
                request, uri, apply, storage_options=storage_options, watch=watch
            )
        else:
            plan = plan_clone(request, uri, storage_options=storage_options, watch=watch)
    if apply is not None:
        print_result(result, uri, as_json=as_json)
    elif as_json:
        print_document(plan.document)
    else:
        options = [
            ("--version", str(plan.version)),
            ("--property", properties),
            ("--user-metadata", user_metadata),
        ]
        words = command_words("clone", [plan.source, plan.uri], options)
        print_clone_plan(plan, [*words, *repeated_options(None, option, by)])
