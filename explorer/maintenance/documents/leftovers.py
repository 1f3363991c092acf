"""What a run wrote and no version knows, as its receipt tells it: how much of it was removed,
and what is still there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.maintenance.documents.receipt import MAX_EXCEPTIONS, Receipt
from explorer.table.counts import count

_LEFT = "staged_left"
_UNLISTED = "staged_unlisted"
_REMOVED = "staged_removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """Files of a run that ended early: how many were removed, the paths of those that are still
    there, and what the names of others begin with where nobody could list them. Of long lists
    a receipt has the first; `num_left` and `num_unlisted` count them all."""

    num_removed: int = 0
    left: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    num_left: int = 0
    num_unlisted: int = 0

    @property
    def result(self) -> dict[str, Any]:
        """For the result of a step: of long lists the first, and how many there are."""
        found: dict[str, Any] = {_REMOVED: self.num_removed}
        for name, paths in ((_LEFT, self.left), (_UNLISTED, self.unlisted)):
            if paths:
                found |= {f"num_{name}": len(paths), name: list(paths[:MAX_EXCEPTIONS])}
        return found

    @property
    def sentence(self) -> str:
        """What became of them, and what becomes of the rest; empty where there is nothing."""
        parts = []
        if number := self.num_removed:
            verb = "was" if number == 1 else "were"
            parts.append(f"{count(number, 'file')} that it had written {verb} removed again.")
        if number := self.num_left:
            verb = "is" if number == 1 else "are"
            parts.append(
                f"{count(number, 'file')} that it had written {verb} still there: what no version "
                "knows, vacuum deletes once it is older than the retention."
            )
        if self.num_unlisted:
            parts.append(
                "More may be left: a folder could not be listed. The names of such files begin as "
                "the receipt tells."
            )
        return " ".join(parts)


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
