"""What a run wrote and no version knows, as its receipt tells it: how much of it was removed,
and what is still there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorer.maintenance.documents.receipt import MAX_EXCEPTIONS, Receipt
from explorer.writing.files.leftovers import Leftovers

_LEFT = "staged_left"
_UNLISTED = "staged_unlisted"
_REMOVED = "staged_removed"


def as_result(left: Leftovers) -> dict[str, Any]:
    """For the result of a step: of long lists the first, and how many there are."""
    found: dict[str, Any] = {_REMOVED: left.num_removed}
    for name, paths in ((_LEFT, left.left), (_UNLISTED, left.unlisted)):
        if paths:
            found |= {f"num_{name}": len(paths), name: list(paths[:MAX_EXCEPTIONS])}
    return found


def leftovers_of(receipt: Receipt) -> Leftovers:
    """What all steps of a run tell of it together."""
    told = [step.result or {} for step in receipt.steps]
    return Leftovers(
        num_removed=sum(_number(found, _REMOVED) for found in told),
        left=tuple(path for found in told for path in _texts(found, _LEFT)),
        unlisted=tuple(path for found in told for path in _texts(found, _UNLISTED)),
        num_left=sum(_number(found, f"num_{_LEFT}") for found in told),
        num_unlisted=sum(_number(found, f"num_{_UNLISTED}") for found in told),
    )


def _number(found: Mapping[str, Any], name: str) -> int:
    value = found.get(name)
    return value if isinstance(value, int) else 0


def _texts(found: Mapping[str, Any], name: str) -> list[str]:
    value = found.get(name)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
