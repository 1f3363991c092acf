"""Whether a release can read or write a table: its abilities against what is asked.

No beats unknown, unknown beats conditional, and only what is known wholly is a yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from explorer.inspect.engine_support._cells import (
    NO,
    UNKNOWN,
    YES,
    Evidence,
    Support,
    Verdict,
    release_number,
)
from explorer.inspect.engine_support._needs import Needs
from explorer.inspect.engine_support._releases import Ability, Engine, Release
from explorer.protocol.features.registry import find_feature

_WORST_FIRST: Final[tuple[Verdict, ...]] = ("no", "unknown", "conditional", "yes")
_CAN: Final = frozenset({"yes", "conditional"})
_NAME_MODE: Final = "columnMapping_name"
_UNUSED: Final = Support(
    verdict="unknown", text="required only by the protocol version, and not used"
)
_MISPLACED: Final = Support(
    verdict="unknown", text="listed for readers, although it is a writer feature"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict in one direction and its reasons.

    `blockers` are the features and versions that stop it, `unknowns` those of which nothing
    is known, `conditions` what a conditional verdict takes, `remarks` what the source adds
    to the others. `since` is the release that brought it, where the source says so.
    """

    verdict: Verdict
    blockers: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    since: str | None = None
    evidence: Evidence = "unknown"

    @property
    def can(self) -> bool:
        """Whether it goes, if only on a condition."""
        return self.verdict in _CAN


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """From which release on an engine can, without a break to the newest; not `exact` where
    nothing says that an older one cannot."""

    version: str
    exact: bool


def judge_release(release: Release, reader: Needs, writer: Needs) -> tuple[Judgement, Judgement]:
    """Whether it can read, and whether it can write; a writer must know whatever readers must."""
    read, write = judge(release.read, reader), judge(release.write, writer)
    if not read.blockers or release.write.never is not None:
        return read, write
    evidence = write.evidence if write.verdict == "no" else read.evidence
    blockers = tuple(dict.fromkeys((*read.blockers, *write.blockers)))
    unknowns = tuple(name for name in write.unknowns if name not in read.blockers)
    return read, replace(
        write, verdict="no", blockers=blockers, unknowns=unknowns, evidence=evidence, since=None
    )


def judge(ability: Ability, needs: Needs) -> Judgement:
    """One direction alone. What rests on nothing is unknown, whatever it says."""
    if ability.evidence == "unknown":
        told = () if ability.never is None else (ability.never,)
        return Judgement(verdict="unknown", unknowns=(_version_name(needs),), remarks=told)
    if ability.never is not None:
        return Judgement(verdict="no", remarks=(ability.never,), evidence=ability.evidence)
    found = dict(_supports(ability, needs))
    verdict = min((item.verdict for item in found.values()), key=_WORST_FIRST.index)
    named: dict[Verdict, list[str]] = {word: [] for word in _WORST_FIRST}
    for name, item in found.items():
        named[item.verdict].append(name)
    since = [item.since for item in found.values() if item.since is not None]
    return Judgement(
        verdict=verdict,
        blockers=tuple(named["no"]),
        unknowns=tuple(named["unknown"]),
        conditions=tuple(_texts(found, named["conditional"])),
        remarks=tuple(_texts(found, [*named["no"], *named["unknown"], *named["yes"]])),
        since=max(since, key=release_number) if since and verdict in _CAN else None,
        evidence=ability.evidence if verdict != "unknown" else "unknown",
    )


def find_since(engine: Engine, judged: Sequence[Judgement]) -> Since | None:
    """The oldest release after which all can; `judged` has one for each release. Of a single
    one nothing can be said but what its source says."""
    if not judged[-1].can:
        return None
    if (told := judged[-1].since) is not None:
        return Since(version=told, exact=True)
    first = first_of_last_run(judged)
    version = None if first is None else engine.releases[first].version
    if first is None or version is None or len(judged) == 1:
        return None
    return Since(version=version, exact=first > 0 and judged[first - 1].verdict != "unknown")


def first_of_last_run(judged: Sequence[Judgement]) -> int | None:
    """Where the newest unbroken row of releases that can begins, or None. Behind one that
    can without a condition, those that can with one do not count."""
    ends = [at for at, item in enumerate(judged) if item.can]
    if not ends:
        return None
    first = ends[-1]
    good = {"yes"} if judged[first].verdict == "yes" else _CAN
    while first > 0 and judged[first - 1].verdict in good:
        first -= 1
    return first


def _supports(ability: Ability, needs: Needs) -> Iterator[tuple[str, Support]]:
    yield _version_name(needs), _support_of_version(ability, needs)
    if needs.lacks_list:
        yield f"{needs.role}Features, which is missing", UNKNOWN
    for name in needs.names:
        yield name, _support_of_feature(ability, needs, name)


def _support_of_version(ability: Ability, needs: Needs) -> Support:
    if ability.max_version is not None and needs.version > ability.max_version:
        return NO
    if needs.version > needs.newest:
        return UNKNOWN
    if needs.version == needs.newest and ability.by_name is not None:
        return ability.by_name
    return ability.plain


def _support_of_feature(ability: Ability, needs: Needs, name: str) -> Support:
    entry = find_feature(name)
    if name == "columnMapping" and _NAME_MODE in ability.features:
        return ability.features[_NAME_MODE] if needs.mapping_mode == "name" else UNKNOWN
    misplaced = entry is not None and entry.kind == "writer" and needs.role == "reader"
    if misplaced and name not in ability.features:
        return _MISPLACED
    found = ability.of(name)
    unused = YES if found.in_use_only else _UNUSED
    by_number = ability.names_only and name in needs.by_number and found.verdict == "no"
    if not (found.in_use_only or by_number):
        return found
    if needs.in_use is None:
        return Support(verdict="unknown", text=found.text)
    used = (name if entry is None else entry.name) in needs.in_use
    return found if used else unused


def _version_name(needs: Needs) -> str:
    return f"{needs.role} version {needs.version}"


def _texts(found: dict[str, Support], names: list[str]) -> Iterator[str]:
    for name in names:
        if (text := found[name].text) is not None:
            yield f"{name}: {text}"
