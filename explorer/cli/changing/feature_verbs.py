"""The verbs that change what a table asks of its writers and readers: its constraints and
its features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import explorer
from explorer.errors import InvalidArgumentError
from explorer.progress import ProgressCallback

Action = Annotated[
    str | None,
    typer.Argument(metavar="add|drop", help="Add or drop the constraint."),
]
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="The constraint's name.")]
Expression = Annotated[
    str | None,
    typer.Argument(metavar="EXPR", help="What must be true for every row, as SQL."),
]
IfExists = Annotated[
    bool, typer.Option("--if-exists", help="Succeed where the table has no such constraint.")
]

Features = Annotated[
    list[str] | None, typer.Argument(metavar="FEATURE...", help="Features to enable.")
]
ReaderVersion = Annotated[
    int | None,
    typer.Option("--reader-version", metavar="N", help="Raise the reader version to at least N."),
]
WriterVersion = Annotated[
    int | None,
    typer.Option("--writer-version", metavar="N", help="Raise the writer version to at least N."),
]

OnlyUsed = Annotated[
    bool,
    typer.Option(
        "--only-used",
        help="Leave out features of the old protocol version that no version ever used.",
    ),
]

Feature = Annotated[str | None, typer.Argument(metavar="FEATURE", help="The feature to drop.")]
TruncateHistory = Annotated[
    bool,
    typer.Option(
        "--truncate-history",
        help="Also remove the history that names the feature; without it, the history stays "
        "and is protected by a checkpoint.",
    ),
]


# The planners import theirs inside: `--help` does without Arrow.


def plan_constraint(  # noqa: PLR0913  # the options of a command
    table: explorer.Table,
    action: Action = None,
    name: Name = None,
    expression: Expression = None,
    *,
    if_exists: IfExists = False,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Add or drop a CHECK constraint.

    Before one is added, every row of the table is checked against it.

    Example: delta-explorer constraint ./orders add amount_is_positive 'amount > 0'
    """
    from explorer.maintenance.constraints import (  # noqa: PLC0415  # see above
        plan_add_constraint,
        plan_drop_constraint,
    )

    del state_dir
    if action == "add" and name is not None and expression is not None and not if_exists:
        return plan_add_constraint(table, name, expression, progress=progress)
    if action == "drop" and name is not None and expression is None:
        return plan_drop_constraint(table, name, if_exists, progress=progress)
    raise InvalidArgumentError(
        "The arguments do not name a constraint to add or drop.",
        reason="Adding takes a name and a condition, dropping only a name.",
        remedy="Write add NAME EXPR, or drop NAME, or --apply DIGEST.",
    )


def plan_upgrade_of(  # noqa: PLR0913  # the options of a command
    table: explorer.Table,
    features: Features = None,
    *,
    reader_version: ReaderVersion = None,
    writer_version: WriterVersion = None,
    only_used: OnlyUsed = False,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Enable table features, or raise the protocol versions.

    The plan says which engines can no longer use the table afterwards.

    Example: delta-explorer upgrade ./orders deletionVectors
    """
    from explorer.inspect.engine_support.lost_engines import losses_sentence  # noqa: PLC0415  # see above
    from explorer.maintenance.features.upgrade import plan_upgrade  # noqa: PLC0415  # see above

    del state_dir
    return plan_upgrade(
        table,
        features=features or (),
        reader_version=reader_version,
        writer_version=writer_version,
        only_used=only_used,
        losers=losses_sentence,
        progress=progress,
    )


def plan_drop_of(
    table: explorer.Table,
    feature: Feature = None,
    *,
    truncate_history: TruncateHistory = False,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Drop a table feature.

    Some features take two steps; the plan says which of them it is.

    Example: delta-explorer drop-feature ./orders deletionVectors
    """
    from explorer.maintenance.features.drop_feature import plan_drop_feature  # noqa: PLC0415  # see above

    del state_dir
    if feature is None:
        raise InvalidArgumentError(
            "No feature is named.",
            reason="There is nothing to drop.",
            remedy="Write the feature's name, or --apply DIGEST.",
        )
    return plan_drop_feature(table, feature, truncate_history=truncate_history, progress=progress)
