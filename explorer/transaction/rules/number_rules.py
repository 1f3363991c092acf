"""Numbers of actions that the types of the log hold (spec: Add File and Remove File, Add CDC
File, Transaction Identifiers, Deletion Vector Descriptor Schema)."""

from __future__ import annotations

from collections import Counter

from explorer.protocol.actions import Transaction
from explorer.protocol.commit_json import render_action
from explorer.protocol.file_actions import AddCDCFile, AddFile, RemoveFile
from explorer.table.counts import have
from explorer.transaction.rules.change import REPORT, Change, Problems, problem
from explorer.transaction.staged_files import numbers_beyond


def validate_numbers(change: Change) -> Problems:
    """A whole number is a long, an offset or size of a vector an integer: one beyond that can
    be read by nobody, and then the whole version cannot. Columns hold no others."""
    counts: Counter[str] = Counter()
    for action in change.staged.actions:
        if isinstance(action, AddFile | RemoveFile | AddCDCFile | Transaction):
            ((name, body),) = render_action(action).items()
            counts.update(f"{name}.{field}" for field in numbers_beyond(body))
    for field, count in counts.items():
        yield problem(
            f"{have(count, 'action')} a number in `{field}` that its type cannot hold.",
            "No reader could parse the commit, or any version after it.",
            spec="Actions",
            remedy=REPORT,
            kind="log_corrupt",
        )
