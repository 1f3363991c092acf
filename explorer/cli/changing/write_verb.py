"""`write`: the rows of files into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

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
    parse_transaction,
    watched_write,
)
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.writing_printing import command_words, print_result, print_write_plan

if TYPE_CHECKING:
    from explorer.writing.statements.options import WriteOptions

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Files of Parquet, or of Arrow (files and streams)."),
]
Mode = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="append, overwrite, error or ignore; the last two say what happens where there is a "
        "table already.",
    ),
]
ReplaceWhere = Annotated[
    str | None,
    typer.Option(
        "--replace-where",
        metavar="SQL",
        help="Overwrite only the rows for which this is true.",
    ),
]
Overwritten = Annotated[
    str,
    typer.Option(
        "--partition-overwrite",
        metavar="KIND",
        help="static overwrites all, dynamic only partitions that rows are for.",
    ),
]
MergeSchema = Annotated[bool, typer.Option("--merge-schema", help="Add new columns.")]
OverwriteSchema = Annotated[
    bool,
    typer.Option(
        "--overwrite-schema",
        help="With the rows replace the columns, and the layout where one is named.",
    ),
]
Transaction = Annotated[
    str | None,
    typer.Option(
        "--transaction",
        metavar="APP:VERSION",
        help="Write nothing where the table has this transaction, or a later one of APP.",
    ),
]
TargetSize = Annotated[
    str | None,
    typer.Option(
        "--target-size",
        metavar="SIZE",
        help="The size of the new files, such as 128mb; by default what the table's properties "
        "say, else 128mb.",
    ),
]


def write(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    files: Files,
    *,
    mode: Mode = "append",
    replace_where: ReplaceWhere = None,
    partition_overwrite: Overwritten = "static",
    merge_schema: MergeSchema = False,
    overwrite_schema: OverwriteSchema = False,
    partition_by: PartitionBy = None,
    cluster_by: ClusterBy = None,
    properties: Properties = None,
    transaction: Transaction = None,
    user_metadata: UserMetadata = None,
    target_size: TargetSize = None,
    by: WrittenBy = None,
    apply: ApplyWrite = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Write the rows of Parquet and Arrow files.

    The table is created where there is none. A plan counts for the very bytes of the files.
    Rules of the table for each row are asked when the rows are read, with --apply; a row that
    breaks one is told, and nothing is committed.

    Example: delta-explorer write ./orders new.parquet --mode append --merge-schema
    """
    # they bring Arrow, which `--help` does without
    from explorer.pipeline.planned_writes.write_plan import (  # noqa: PLC0415  # see above
        carry_out_write,
        plan_write,
    )

    given: dict[str, Any] = {
        "mode": mode,
        "replace_where": replace_where,
        "partition_overwrite": partition_overwrite,
        "merge_schema": merge_schema,
        "overwrite_schema": overwrite_schema,
        "partition_by": partition_by,
        "cluster_by": cluster_by,
        "property": properties,
        "transaction": transaction,
        "user_metadata": user_metadata,
        "target_size": target_size,
    }
    options = _options(given, by)
    storage_options = parse_storage_options(option)
    with watched_write() as watch:
        if apply is not None:
            result = carry_out_write(
                files, uri, options, apply, storage_options=storage_options, watch=watch
            )
        else:
            plan = plan_write(files, uri, options, storage_options=storage_options, watch=watch)
    if apply is not None:
        print_result(result, uri, as_json=as_json)
    elif as_json:
        print_document(plan.document)
    else:
        words = command_words("write", [plan.uri, *files], _spelled(given))
        print_write_plan(plan, [*words, *repeated_options(None, option, by)])


def _options(given: dict[str, Any], by: str | None) -> WriteOptions:
    from explorer.table.target_size import parse_target  # noqa: PLC0415  # after Arrow
    from explorer.writing.statements.options import WriteOptions  # noqa: PLC0415  # as above

    size = given["target_size"]
    return WriteOptions(
        mode=cast("Any", given["mode"]),
        replace_where=given["replace_where"],
        partition_overwrite=cast("Any", given["partition_overwrite"]),
        merge_schema=given["merge_schema"],
        overwrite_schema=given["overwrite_schema"],
        partition_by=as_names(given["partition_by"]),
        cluster_by=as_names(given["cluster_by"]),
        properties=parse_pairs(given["property"] or []),
        transaction=parse_transaction(given["transaction"]),
        user_metadata=given["user_metadata"],
        user_name=by,
        target_file_size=None if size is None else parse_target(size, "Write it as 128mb or 1gb."),
    )


def _spelled(given: dict[str, Any]) -> list[tuple[str, Any]]:
    """The options as they are given on the command line, without what holds anyway."""
    return [
        (f"--{name.replace('_', '-')}", value)
        for name, value in given.items()
        if (name, value) != ("partition_overwrite", "static")
    ]
