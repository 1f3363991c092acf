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
    typer.Argument(metavar="add|drop", help="What becomes of the constraint."),
]
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="The constraint's name.")]
Expression = Annotated[
    str | None,
    typer.Argument(metavar="[EXPR]", help="What must be true for every row, as SQL."),
]
IfExists = Annotated[
    bool, typer.Option("--if-exists", help="A constraint that is not there is no error.")
]

Features = Annotated[
    list[str] | None, typer.Argument(metavar="[FEATURE]...", help="Features to enable.")
]
ReaderVersion = Annotated[
    int | None, typer.Option("--reader-version", metavar="N", help="At least this reader version.")
]
WriterVersion = Annotated[
    int | None, typer.Option("--writer-version", metavar="N", help="At least this writer version.")
]

OnlyUsed = Annotated[
    bool,
    typer.Option(
        "--only-used",
        help="Of features that came with a version's number, list those alone that were used.",
    ),
]

Feature = Annotated[
    str | None, typer.Argument(metavar="[FEATURE]", help="The feature that is to go.")
]
TruncateHistory = Annotated[
    bool,
    typer.Option(
        "--truncate-history",
        help="Only once no log file speaks of it; without it the history stays, protected.",
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
    """Plan to add or drop a CHECK constraint, or do it; adding holds every row against it.

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
        "It is not clear what should become of which constraint.",
        reason="A constraint is added by its name and a condition, and dropped by its name.",
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
    """Plan to enable features, or do it; the plan says first who can no longer use the table.

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
    """Plan to drop a feature, or do it; the plan says which of its two steps it is.

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
