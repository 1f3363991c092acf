"""The verbs that change a table, each a plan first: without `--apply` they store and print
it, with it they carry out exactly that document."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import explorer
from explorer.cli.arguments.maintenance_options import (
    Retention,
    StateDirectory,
    changing_verb,
    print_plan_document,
    repeated_options,
)
from explorer.cli.arguments.options import (
    SCREENFUL,
    AsJson,
    Limit,
    parse_duration,
    parse_pairs,
)
from explorer.cli.changing.column_verbs import plan_cluster_by_verb, plan_column
from explorer.cli.changing.feature_verbs import plan_constraint, plan_drop_of, plan_upgrade_of
from explorer.cli.changing.optimize_verb import plan_optimize_verb
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.maintenance_printing import (
    print_noted_plan,
    print_plan,
    print_plans,
    print_receipt,
    print_receipts,
)
from explorer.errors import InvalidArgumentError
from explorer.inspect.answer import check_one_point_in_time
from explorer.progress import ProgressCallback

if TYPE_CHECKING:
    from explorer.maintenance.documents.state_folder import StateFolder
    from explorer.maintenance.repair.repair import What as Broken

RestoredVersion = Annotated[
    int | None,
    typer.Option("--version", "-v", metavar="N", help="Restore this version."),
]
RestoredTimestamp = Annotated[
    str | None,
    typer.Option(
        "--timestamp",
        "-t",
        metavar="T",
        help="Restore the version that was current at this time, such as 2026-11-01T00:00:00Z.",
    ),
]
Lite = Annotated[
    bool, typer.Option("--lite", help="Only files that the log names; the folder is not listed.")
]
First = Annotated[int | None, typer.Option("--from", metavar="N", help="The first version.")]
Last = Annotated[int | None, typer.Option("--to", metavar="N", help="The last version.")]
Pairs = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE...", help="Properties to set."),
]
Unset = Annotated[
    list[str] | None, typer.Option("--unset", metavar="KEY", help="A property to unset.")
]
What = Annotated[
    str,
    typer.Argument(metavar="WHAT", help="hint, checkpoint, files or statistics."),
]
Digest = Annotated[
    str | None, typer.Argument(metavar="DIGEST", help="Show only this plan, with its files.")
]
ReceiptId = Annotated[str | None, typer.Argument(metavar="ID", help="Show only this receipt.")]


# The planners import theirs inside: `--help` does without Arrow.


def _checkpoint(
    table: explorer.Table, *, progress: ProgressCallback | None, state_dir: Path | None
) -> Any:
    """Write a checkpoint of the newest version.

    Example: delta-explorer checkpoint ./orders
    """
    from explorer.maintenance.log_files.checkpoint import plan_checkpoint  # noqa: PLC0415  # see above

    del state_dir
    return plan_checkpoint(table, progress=progress)


def _compact_log(
    table: explorer.Table,
    *,
    first: First = None,
    last: Last = None,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Write a log compaction: one file for a range of commits.

    Example: delta-explorer compact-log ./orders --from 10 --to 19
    """
    from explorer.maintenance.log_files.log_compaction import plan_log_compaction  # noqa: PLC0415  # see above

    del state_dir
    return plan_log_compaction(table, first, last, progress=progress)


def _vacuum(
    table: explorer.Table,
    *,
    retention: Retention = None,
    lite: Lite = False,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Delete files that no version within the retention needs.

    Example: delta-explorer vacuum ./orders --retention '14 days'
    """
    from explorer.maintenance.vacuum.vacuum import plan_vacuum  # noqa: PLC0415  # see above

    return plan_vacuum(
        table,
        parse_duration(retention),
        mode="lite" if lite else "full",
        progress=progress,
        state_dir=state_dir,
    )


def _clean_log(
    table: explorer.Table,
    *,
    retention: Retention = None,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Delete commits and checkpoints beyond the log retention.

    Example: delta-explorer clean-log ./orders
    """
    from explorer.maintenance.log_files.log_cleanup import plan_log_cleanup  # noqa: PLC0415  # see above

    del state_dir
    return plan_log_cleanup(table, parse_duration(retention), progress=progress)


def _restore(
    table: explorer.Table,
    *,
    version: RestoredVersion = None,
    timestamp: RestoredTimestamp = None,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Restore an earlier version as the newest one.

    Example: delta-explorer restore ./orders --version 12
    """
    from explorer.maintenance.restore import plan_restore  # noqa: PLC0415  # see above

    del state_dir
    check_one_point_in_time(version, timestamp)
    return plan_restore(table, version, timestamp, progress=progress)


def _set(
    table: explorer.Table,
    pairs: Pairs = None,
    *,
    unset: Unset = None,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Set and unset table properties.

    Example: delta-explorer set ./orders delta.checkpointInterval=20 --unset owner
    """
    from explorer.maintenance.table_properties import (  # noqa: PLC0415  # see above
        plan_set_properties,
    )

    del state_dir
    return plan_set_properties(table, parse_pairs(pairs or []), unset or (), progress=progress)


def _repair(
    table: explorer.Table,
    what: What,
    *,
    progress: ProgressCallback | None,
    state_dir: Path | None,
) -> Any:
    """Repair the hint, a checkpoint, missing files or statistics.

    hint: _last_checkpoint names the newest readable checkpoint. checkpoint: broken ones are
    replaced. files: files that are missing are removed from the newest version. statistics:
    missing ones are computed.

    Example: delta-explorer repair ./orders checkpoint
    """
    from explorer.maintenance.repair.repair import plan_repair  # noqa: PLC0415  # see above

    del state_dir
    if what not in {"hint", "checkpoint", "files", "statistics"}:
        raise InvalidArgumentError(
            f"{what[:60]!r} cannot be repaired.",
            reason="Only the hint, a checkpoint, missing files or statistics can be repaired.",
            remedy="Write hint, checkpoint, files or statistics.",
        )
    return plan_repair(table, cast("Broken", what), progress=progress)


def plans(
    digest: Digest = None,
    *,
    state_dir: StateDirectory = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List plans, newest first, or show one with its files.

    Example: delta-explorer plans
    """
    from explorer.maintenance.documents.state_folder import StateFolder  # noqa: PLC0415  # see above

    state = StateFolder(state_dir)
    if digest is not None:
        document = state.load_document(digest)
        if "note" in document:
            _show_noted_plan(state, document, as_json=as_json)
            return
        plan = state.load_plan(digest)
        if as_json:
            print_plan_document(plan, limit)
        else:
            print_plan(plan, limit or SCREENFUL, repeated_options(state_dir))
        return
    found = state.list_plans()[:limit]
    if not as_json:
        print_plans(found, state.place)
        return
    for document in found:
        print_document(document)


def _show_noted_plan(state: StateFolder, document: Mapping[str, Any], *, as_json: bool) -> None:
    from explorer.maintenance.documents.older_plan import (  # noqa: PLC0415  # see above
        describe_run,
        read_steps,
    )

    journal = state.read_journal(document["digest"])
    told = describe_run(document, journal)
    if as_json:
        print_document({**document, "execution": told})
    else:
        print_noted_plan(document, read_steps(document), told)


def receipts(
    identifier: ReceiptId = None,
    *,
    state_dir: StateDirectory = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List receipts, newest first, or show one.

    A receipt says what a plan did when it was carried out.

    Example: delta-explorer receipts --limit 5
    """
    from explorer.maintenance.documents.state_folder import StateFolder  # noqa: PLC0415  # see above

    state = StateFolder(state_dir)
    if identifier is not None:
        receipt = state.load_receipt(identifier)
        if as_json:
            print_document(receipt.document)
        else:
            print_receipt(receipt)
        return
    found = [
        {"id": name, "altered": True} if receipt is None else receipt.document
        for name, receipt in islice(state.receipts_by_id().items(), limit)
    ]
    if not as_json:
        print_receipts(found, state.place)
        return
    for document in found:
        print_document(document)


CHANGING_VERBS = {
    "optimize": changing_verb("optimize")(plan_optimize_verb),
    "vacuum": changing_verb("vacuum")(_vacuum),
    "checkpoint": changing_verb("checkpoint")(_checkpoint),
    "compact-log": changing_verb("compact-log")(_compact_log),
    "clean-log": changing_verb("clean-log")(_clean_log),
    "restore": changing_verb("restore")(_restore),
    "repair": changing_verb("repair")(_repair),
    "set": changing_verb("set-properties")(_set),
    "column": changing_verb("column")(plan_column),
    "cluster-by": changing_verb("cluster-by")(plan_cluster_by_verb),
    "constraint": changing_verb("constraint")(plan_constraint),
    "upgrade": changing_verb("upgrade")(plan_upgrade_of),
    "drop-feature": changing_verb("drop-feature")(plan_drop_of),
}
DOCUMENT_VERBS = {"plans": plans, "receipts": receipts}
"""Both by the names under which the command line has them."""
