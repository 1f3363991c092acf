"""What every verb that changes a table shares: its options, and how a plan becomes a
printed page, or an approval a receipt."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Signature, signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import explorer
from explorer.cli.arguments._plan_arguments import check_arguments
from explorer.cli.arguments.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Uri,
    parse_storage_options,
)
from explorer.cli.printing.failures import (
    EXIT_CANCELLED,
    EXIT_PARTLY,
    EXIT_PROBLEM,
    EXIT_REFUSED,
    report_as_json,
)
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.maintenance_printing import print_plan, print_receipt
from explorer.cli.printing.terminal import show_progress
from explorer.errors import InvalidArgumentError
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    from explorer.maintenance.documents.receipt import Receipt
    from explorer.maintenance.plan.plan import Operation, Plan

Apply = Annotated[
    str | None,
    typer.Option(
        "--apply",
        metavar="DIGEST",
        help="Carry out exactly the plan with this digest. Without it nothing is changed.",
    ),
]
Confirm = Annotated[
    str | None,
    typer.Option("--confirm", metavar="NAME", help="The table's name, where a guard asks for it."),
]
Reason = Annotated[
    str | None,
    typer.Option(
        "--reason",
        metavar="TEXT",
        help="The reason, needed where a guard asks for it; the receipt keeps it.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="Who applies the plan; the receipt and the commits record this name.",
    ),
]
StateDirectory = Annotated[
    Path | None,
    typer.Option(
        "--state-dir",
        metavar="DIR",
        help="The folder of plans and receipts; your own state folder by default.",
    ),
]
Retention = Annotated[
    str | None,
    typer.Option(
        "--retention",
        metavar="DURATION",
        help="How long to keep, such as '14 days' or '36 hours'; by default what the table's "
        "properties say.",
    ),
]

_EXITS = {
    "completed": 0,
    "partly": EXIT_PARTLY,
    "cancelled": EXIT_CANCELLED,
    "refused": EXIT_REFUSED,
    "failed": EXIT_PROBLEM,
}


Planner = Callable[..., "Plan"]
"""From a table, `progress=`, `state_dir=` and a verb's own options to a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asked a verb to do that changes a table."""

    operation: Operation
    uri: str
    option: list[str] | None
    apply: str | None
    confirm: str | None
    reason: str | None
    by: str | None
    state_dir: Path | None
    limit: int | None
    as_json: bool


def _shared(  # noqa: PLR0913  # the options that every such verb has
    uri: Uri,
    *,
    apply: Apply = None,
    confirm: Confirm = None,
    reason: Reason = None,
    by: By = None,
    state_dir: StateDirectory = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Their names, kinds and defaults, in the order of the help."""


_SHARED = signature(_shared, eval_str=True).parameters


def changing_verb(operation: Operation) -> Callable[[Planner], Callable[..., None]]:
    """A verb made of its planner: the planner's own options, those of every such verb, and
    what happens with and without `--apply`."""

    def make(planner: Planner) -> Callable[..., None]:
        # the annotation of `table` is not used, and to evaluate it loads all that reads a log
        names = {"explorer": SimpleNamespace(Table=object)}
        own = [
            found
            for name, found in signature(planner, eval_str=True, locals=names).parameters.items()
            if name not in {"table", "progress", "state_dir"}
        ]

        def verb(**given: Any) -> None:
            shared = {name: given.pop(name) for name in _SHARED}
            _plan_or_apply(Request(operation=operation, **shared), planner, given)

        verb.__doc__ = planner.__doc__
        first, *others = _SHARED.values()
        parameters = [first, *own, *others]
        verb.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # read by typer
        verb.__annotations__ = {found.name: found.annotation for found in parameters}
        return verb

    return make


def _plan_or_apply(request: Request, planner: Planner, own: Mapping[str, Any]) -> None:
    """Without a digest: make the plan, keep it and print it. With one: carry that plan out
    and print the receipt; an argument of the verb then has to be the plan's. Ends with the
    exit code of the contract."""
    table = explorer.open_table(request.uri, parse_storage_options(request.option))
    if request.apply is None:
        code = _plan(request, table, partial(planner, **own))
    else:
        code = _apply(request, table, own)
    if code:
        raise typer.Exit(code)


def _plan(request: Request, table: explorer.Table, planner: Planner) -> int:
    from explorer.maintenance.documents.state_folder import StateFolder  # noqa: PLC0415  # brings Arrow

    state = StateFolder(request.state_dir)
    state.check_outside(table)
    with show_progress() as progress:
        plan = planner(table, progress=progress, state_dir=request.state_dir)
    state.save_plan(plan)
    if request.as_json:
        print_plan_document(plan, request.limit)
    else:
        further = repeated_options(request.state_dir, request.option, request.by)
        print_plan(plan, request.limit or SCREENFUL, further)
    return EXIT_REFUSED if plan.refusals else 0


def repeated_options(
    state_dir: Path | None, pairs: list[str] | None = None, by: str | None = None
) -> list[str]:
    """The options that have to be given again where a plan is applied, as words of the shell:
    who does it, where it is kept, and the storage options by their keys, because a value may be
    a secret."""
    words = [] if by is None else ["--by", shlex.quote(by)]
    words += [] if state_dir is None else ["--state-dir", shlex.quote(str(state_dir))]
    for pair in pairs or ():
        words += ["--option", f"{shlex.quote(pair.partition('=')[0])}=…"]
    return words


def print_plan_document(plan: Plan, limit: int | None) -> None:
    """A plan as one JSON document, with its digest, what blocks it, and its files."""
    files = plan.files if limit is None else plan.files.slice(0, limit)
    rows = list(plain_rows(files))
    blocks = [verdict.message for verdict in plan.refusals]
    first = {"digest": plan.digest, "blocked_by": blocks}
    print_document({**first, **plan.document, "file_list": rows})


def _apply(request: Request, table: explorer.Table, own: Mapping[str, Any]) -> int:
    from explorer.maintenance.documents.state_folder import StateFolder  # noqa: PLC0415  # as above
    from explorer.maintenance.plan.plan import Approval  # noqa: PLC0415  # brings Arrow
    from explorer.maintenance.run.executor import (  # noqa: PLC0415  # as above
        completed_run,
        start,
    )

    state = StateFolder(request.state_dir)
    plan = state.load_plan(_named(request.apply), table)
    if plan.operation != request.operation:
        raise InvalidArgumentError(
            f"The plan {plan.digest[:12]} belongs to another verb.",
            reason=f"It was made for the operation {plan.operation}.",
            remedy="Apply it with the verb that made it.",
        )
    check_arguments(plan, own, table)
    earlier = completed_run(state, plan.digest)
    approval = Approval(
        plan.digest, by=request.by or None, table_name=request.confirm, reason=request.reason
    )
    with show_progress() as progress:
        running = start(
            plan,
            approval,
            table=table,
            progress=progress,
            state_dir=request.state_dir,
            storage_options=parse_storage_options(request.option),
        )
        receipt = _wait(running)
    if request.as_json:
        print_document(receipt.document)
        if receipt.problem is not None:
            report_as_json({**receipt.problem.as_dict()})
    else:
        print_receipt(receipt, was_done_before=receipt.id == earlier)
    return _EXITS[receipt.status]


def _named(digest: str | None) -> str:
    if not digest:
        raise InvalidArgumentError(
            "No plan is named.",
            reason="--apply takes the digest of a plan, not an empty text.",
            remedy="`delta-explorer plans` lists the plans with their digests.",
        )
    return digest


def _wait(running: Any) -> Receipt:
    """The receipt; an interrupt asks the run to stop, and its receipt says how far it came."""
    receipt: Receipt | None = None
    while receipt is None:
        try:
            receipt = running.result()
        except KeyboardInterrupt:
            running.cancel()
            sys.stderr.write("Stopping after this step...\n")
    return receipt
