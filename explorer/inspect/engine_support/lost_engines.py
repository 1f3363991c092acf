"""Which engines can read a table after a commit, and which a change of protocol keeps away from
one that they could use before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from explorer.inspect.engine_support._data import collected_engines
from explorer.inspect.engine_support._judgement import judge_release
from explorer.inspect.engine_support._needs import build_needs
from explorer.inspect.engine_support._this_engine import build_this_engine
from explorer.protocol.actions import Metadata, Protocol

_NAMED: Final = 8
_STOPPED: Final = 3
"""Engines that cannot read which are named beside the number of those that can."""

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


def readers_sentence(before: Asked | None, after: Asked, used: Sequence[str] = ()) -> str:
    """Who can read a version that asks for `after`, where the one before asked for `before`, None
    for the first: `Nothing changed for readers: 30 of 36 engines can read it; A and B cannot.`

    `used` are ids of engines, as in `engines`, that are named first where they cannot.
    """
    needs = build_needs(*after)
    listed = (build_this_engine(), *collected_engines())
    verdicts = [(engine, judge_release(engine.releases[-1], *needs)[0]) for engine in listed]
    can = sum(read.verdict == "yes" for _, read in verdicts)
    stopped = [engine for engine, read in verdicts if read.verdict == "no"]
    # what reads no table at all says nothing of this one: it is counted, and named last
    never = [engine for engine in stopped if engine.releases[-1].read.never is not None]
    stopped = [engine for engine in stopped if engine not in never]
    stopped.sort(key=lambda engine: used.index(engine.id) if engine.id in used else len(used))
    told = counted = f"{can} of {len(listed)} engines can read it"
    if stopped:
        names = [engine.name for engine in (*stopped, *never)]
        told += f"; {_listed(names, _STOPPED)} cannot"
    if before is None:
        return f"{told}."
    lost = engine_losses(before, after)
    if before != after and (lost.readers or lost.writers or lost.num_uncertain):
        return f"{losses_sentence(before, after)} {counted}."
    back = engine_losses(after, before).readers
    if back:
        return f"Can read it again: {_listed(back)}. {counted}."
    return f"Nothing changed for readers: {told}."


def _listed(names: Sequence[str], most: int = _NAMED) -> str:
    more = len(names) - most
    shown = [*names[:most], *([f"{more} more"] if more > 0 else [])]
    return " and ".join([*([", ".join(shown[:-1])] if len(shown) > 1 else []), *shown[-1:]])
