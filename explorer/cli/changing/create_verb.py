"""`create`: a table without rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from explorer.cli.arguments.maintenance_options import repeated_options
from explorer.cli.arguments.options import (
    AsJson,
    StorageOptions,
    Uri,
    parse_pairs,
    parse_storage_options,
)
from explorer.cli.arguments.writing_options import (
    ApplyWrite,
    ClusterBy,
    PartitionBy,
    Properties,
    UserMetadata,
    WrittenBy,
    as_names,
    watched_write,
)
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.writing_printing import command_words, print_create_plan, print_result

if TYPE_CHECKING:
    from explorer.pipeline.planned_writes.create_plan import CreatePlan

Schema = Annotated[
    str,
    typer.Option(
        "--schema",
        metavar="TEXT",
        help="The columns as in CREATE TABLE, or the JSON of a Delta schema.",
    ),
]
Name = Annotated[str | None, typer.Option("--name", metavar="TEXT", help="The table's name.")]
Description = Annotated[
    str | None, typer.Option("--description", metavar="TEXT", help="What the table is about.")
]

Inside = Annotated[
    bool,
    typer.Option(
        "--inside-another-table",
        help="Create it though a folder above has a log. A vacuum there may delete its files.",
    ),
]


def create(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    schema: Schema,
    partition_by: PartitionBy = None,
    cluster_by: ClusterBy = None,
    properties: Properties = None,
    name: Name = None,
    description: Description = None,
    inside_another_table: Inside = False,
    user_metadata: UserMetadata = None,
    by: WrittenBy = None,
    apply: ApplyWrite = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Create a table without rows.

    The plan shows its columns, and what it asks of readers and writers.

    Example: delta-explorer create ./orders --schema "id BIGINT NOT NULL, day DATE"
    """
    # they bring Arrow, which `--help` does without
    from explorer.pipeline.planned_writes.create_plan import (  # noqa: PLC0415  # see above
        NewTableRequest,
        carry_out_create,
        plan_create,
    )
    from explorer.writing.schema.schema_text import parse_schema_text  # noqa: PLC0415  # see above

    request = NewTableRequest(
        schema=parse_schema_text(schema),
        partition_by=as_names(partition_by),
        cluster_by=as_names(cluster_by),
        properties=parse_pairs(properties or []),
        name=name,
        description=description,
        inside_another_table=inside_another_table,
        user_name=by,
        user_metadata=user_metadata,
    )
    storage_options = parse_storage_options(option)
    if apply is not None:
        with watched_write() as watch:
            result = carry_out_create(
                uri, request, apply, storage_options=storage_options, watch=watch
            )
        print_result(result, uri, as_json=as_json)
        return
    plan = plan_create(uri, request, storage_options=storage_options)
    options = [
        ("--schema", schema),
        ("--partition-by", partition_by),
        ("--cluster-by", cluster_by),
        ("--property", properties),
        ("--name", name),
        ("--description", description),
        ("--inside-another-table", inside_another_table),
        ("--user-metadata", user_metadata),
    ]
    words = [*command_words("create", [plan.uri], options), *repeated_options(None, option, by)]
    _print(plan, words, as_json=as_json)


def _print(plan: CreatePlan, words: list[str], *, as_json: bool) -> None:
    if as_json:
        print_document(plan.document)
    else:
        print_create_plan(plan, words)
