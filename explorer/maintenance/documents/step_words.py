"""What became of the steps of a run, in a word each.

A receipt says `done`, `partly` or `not begun` of a step, by what became of its files. People
are told the rest too: a step that was begun in vain is not one that was never begun, and a
checkpoint that was not due was not written.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.maintenance.documents.receipt import Receipt, StepReceipt
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.table.counts import count


def words_of_steps(receipt: Receipt) -> Iterator[str]:
    """For each step in its order what became of it, with the version that it made."""
    ended = next((step for step in receipt.steps if step.status != "done"), None)
    for step in receipt.steps:
        word = _end_of(step, receipt) if step is ended else step.status
        if (step.result or {}).get("due") is False:
            word = "not due"
        yield word + _what_it_made(step)


def _end_of(step: StepReceipt, receipt: Receipt) -> str:
    """The word for the step at which a run ended: the steps before it are done."""
    if step.status == "not begun" and step.result is None:
        return step.status
    if receipt.status in {"cancelled", "refused"}:
        return receipt.status
    return step.status if step.status == "partly" else "failed"


def _what_it_made(step: StepReceipt) -> str:
    found = step.result or {}
    version, files, size = (found.get(key) for key in ("version", "num_added", "bytes_added"))
    parts = [f"version {version}"] if isinstance(version, int) else []
    if isinstance(files, int) and isinstance(size, int):
        parts.append(f"wrote {count(files, 'file')} of {render_byte_size(size)}")
    return f" ({', '.join(parts)})" if parts else ""
