"""Which engines a change of protocol keeps away from a table that they could use before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.inspect.engine_support._data import collected_engines
from explorer.inspect.engine_support._judgement import judge_release
from explorer.inspect.engine_support._needs import build_needs
from explorer.protocol.actions import Metadata, Protocol

_NAMED: Final = 8

Asked = tuple[Protocol, Metadata]
"""What a table asks of whoever uses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """The engines whose newest release could read, or write, and no longer can; those of
    which it is not known whether they still can are counted."""

    readers: tuple[str, ...]
    writers: tuple[str, ...]
    num_uncertain: int


def engine_losses(before: Asked, after: Asked) -> Losses:
    """The engines that can no longer use the table, by the matrix of the package and the newest
    release of each."""
    needs, later = build_needs(*before), build_needs(*after)
    readers: list[str] = []
    writers: list[str] = []
    uncertain = 0
    for engine in collected_engines():
        release = engine.releases[-1]
        could, can = judge_release(release, *needs), judge_release(release, *later)
        for lost, old, new in zip((readers, writers), could, can, strict=True):
            if old.can and new.verdict == "no":
                lost.append(engine.name)
        uncertain += any(
            old.can and new.verdict == "unknown" for old, new in zip(could, can, strict=True)
        )
    return Losses(readers=tuple(readers), writers=tuple(writers), num_uncertain=uncertain)


def losses_sentence(before: Asked, after: Asked) -> str:
    """`engine_losses` in words: `Can no longer read the table: A, B. Can no longer write it: C.`"""
    found = engine_losses(before, after)
    written = "it" if found.readers else "the table"
    parts = [
        f"Can no longer read the table: {_listed(found.readers)}." if found.readers else "",
        f"Can no longer write {written}: {_listed(found.writers)}." if found.writers else "",
        f"For {found.num_uncertain} more it is unknown." if found.num_uncertain else "",
    ]
    return " ".join(part for part in parts if part) or (
        "No known engine loses access to the table."
    )


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
