"""Plans whose execution was cut off: begun, and without a receipt since."""

from __future__ import annotations

from typing import Any

from explorer.errors import InvalidArgumentError
from explorer.maintenance.documents.older_plan import describe_run
from explorer.maintenance.documents.state_folder import StateFolder
from widgets.text import cut


def find_unfinished(state: StateFolder) -> list[str]:
    """A sentence for each, of what the state folder holds."""
    ended = {receipt.digest for receipt in state.list_receipts()}
    said = []
    for plan in state.list_plans():
        digest = str(plan["digest"])
        journal = _journal_of(state, digest)
        if digest in ended or journal == []:
            continue
        subject = plan.get("subject")
        uri = subject.get("uri") if isinstance(subject, dict) else None
        way = f"choose plan {digest[:12]} and approve it again; what is done is not done twice."
        if plan.get("altered"):
            way = f"and make a new plan: the document of plan {digest[:12]} was changed since."
        elif plan.get("note"):
            told = "" if journal is None else describe_run(plan, journal)
            way = f"and make a new plan: plan {digest[:12]} was made by another release. {told}"
        said.append(
            f"A plan for {cut(str(uri), 200)} was interrupted while it was carried out. To end it, "
            f"open the table's maintenance, {way}".rstrip()
        )
    return said


def _journal_of(state: StateFolder, digest: str) -> list[dict[str, Any]] | None:
    """What an execution has noted; None where it cannot be read, which whoever goes on with
    the plan is told."""
    try:
        return state.read_journal(digest)
    except InvalidArgumentError:
        return None
