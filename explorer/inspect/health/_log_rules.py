"""What a log's names, sizes and times tell about its health (spec: Delta Log Entries,
Checkpoints, Metadata Cleanup, In-Commit Timestamps).

No I/O: facts in, findings out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from explorer.inspect.health._clock_rules import find_clock_faults
from explorer.inspect.health._log_facts import LogFacts
from explorer.inspect.health._property_rules import judge_properties
from explorer.inspect.health._vacuum_rules import judge_vacuums
from explorer.inspect.health.findings import Finding
from explorer.inspect.reach.wording import versions_in_words
from explorer.log.folder.segment import in_words, missing_versions
from explorer.protocol.filenames import (
    LAST_CHECKPOINT,
    LogFileName,
    is_temporary,
    meant_name,
    render_commit_name,
)
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_INTERVAL,
    LOG_CLEANUP,
    LOG_RETENTION,
)
from explorer.table.counts import are, count
from explorer.table.retention import log_cutoff_ms

_LATE_CHECKPOINTS = 3
"""Intervals without a checkpoint after which one is late."""
_SHOWN = 3


def find_log_faults(facts: LogFacts) -> Iterator[Finding]:
    """Every finding that names, sizes and times give."""
    yield from _gaps(facts)
    yield from _beginning(facts)
    yield from _checkpoints(facts)
    yield from _hint(facts)
    yield from _stray_names(facts)
    yield from find_clock_faults(facts)
    yield from _repeated(facts)
    yield from _expired(facts)
    yield from judge_properties(facts)
    yield from judge_vacuums(facts)


def _gaps(facts: LogFacts) -> Iterator[Finding]:
    commits = facts.listing.commits
    if not commits:
        return
    for gap in missing_versions(commits, commits[0], commits[-1]):
        first, last = gap[0], gap[-1]
        after = next(
            (found.version for found in facts.listing.checkpoints if found.version >= last), None
        )
        end = commits[-1] if after is None else after - 1
        reason = "No later checkpoint exists: nothing after the gap can be read."
        if after is not None:
            reason = f"Versions from the checkpoint of version {after} on can be read."
        if end >= first:
            reason += f" {versions_in_words([(first, end)]).capitalize()} cannot be read."
        yield Finding(
            severity="error" if after is None else "warning",
            finding="gap in the commits",
            problem=f"The commits of {versions_in_words([(first, last)])} are missing.",
            reason=reason,
            evidence=render_commit_name(first),
            spec="Delta Log Entries",
            remedy="Restore the commits from a backup. A log cleanup leaves no gap: commits were "
            "lost, or the log was only partly copied.",
        )


def _beginning(facts: LogFacts) -> Iterator[Finding]:
    """Commits left at the old end that no checkpoint carries."""
    commits = facts.listing.commits
    if not commits or commits[0] == 0:
        return
    starts = [found.version for found in facts.listing.checkpoints]
    carried = next((version for version in starts if version >= commits[0] - 1), None)
    if carried is None:
        yield Finding(
            severity="error",
            finding="no beginning",
            problem=f"The log begins with version {commits[0]}, and no checkpoint precedes it.",
            reason="The content of the table before that version is lost with the commits and "
            "checkpoints that were removed.",
            evidence=render_commit_name(commits[0]),
            spec="Metadata Cleanup",
            remedy="Restore the removed commits, or a checkpoint, from a backup.",
        )
    elif carried > commits[0]:
        yield Finding(
            severity="warning",
            finding="commits without a checkpoint",
            problem=f"{versions_in_words([(commits[0], carried - 1)]).capitalize()} can no longer "
            "be read, although their commits exist.",
            reason=f"A cleanup removed everything before version {commits[0]}; the oldest "
            f"remaining checkpoint is of version {carried}.",
            evidence=render_commit_name(commits[0]),
            spec="Metadata Cleanup",
            remedy="Later versions are not affected. A log cleanup deletes these commits too.",
            repair="clean-log",
        )


def _checkpoints(facts: LogFacts) -> Iterator[Finding]:
    for found in facts.listing.incomplete_checkpoints:
        there = "part is" if len(found.names) == 1 else "parts are"
        remedy = "Restore its other parts, or the commits up to it, from a backup."
        if facts.segment is not None:
            remedy = "Nothing is lost: the newest version was read from "
            remedy += f"{in_words(facts.segment)}. Write another checkpoint."
        yield Finding(
            severity="warning",
            finding="incomplete checkpoint",
            problem=f"The checkpoint of version {found.version} is incomplete: only "
            f"{len(found.names)} {there} present.",
            reason="Its writer did not finish, or a part was removed; readers must ignore it.",
            evidence=found.names[0],
            spec="Multi-part checkpoint",
            remedy=remedy,
            repair=None if facts.segment is None else "checkpoint",
        )
    several = [
        version
        for version, number in Counter(c.version for c in facts.listing.checkpoints).items()
        if number > 1
    ]
    if several:
        shown = ", ".join(map(str, several[:_SHOWN]))
        names = [c.names[0] for c in facts.listing.checkpoints if c.version == several[0]]
        yield Finding(
            severity="note",
            finding="several checkpoints of one version",
            problem=f"More than one checkpoint exists for version {shown}"
            + (" and others." if len(several) > _SHOWN else "."),
            reason="Several writers wrote one each; readers may use any of them.",
            evidence=names[-1],
            spec="Checkpoints",
            remedy="Nothing needs to be done.",
        )
    yield from _late_checkpoint(facts)


def _late_checkpoint(facts: LogFacts) -> Iterator[Finding]:
    if facts.segment is None or facts.cost is None:
        return
    interval = CHECKPOINT_INTERVAL.value_of(facts.configuration)
    files = facts.cost.commits + facts.cost.compactions
    if files <= _LATE_CHECKPOINTS * interval:
        return
    since, unused = facts.segment.checkpoint, facts.listing.checkpoints
    after = "No checkpoint can be used" if unused else "There is no checkpoint"
    if since is not None:
        after = f"The newest usable checkpoint is of version {since.version}"
    writers = _writers(facts)
    yield Finding(
        severity="warning",
        finding="late checkpoint",
        problem=f"Opening the table reads {facts.cost.commits:,} commits one by one "
        f"({render_byte_size(facts.cost.commit_bytes)}).",
        reason=f"{after}; one is due every {interval} commits (delta.checkpointInterval)."
        + (f" The newest commits were made by {writers}." if writers else ""),
        evidence=LAST_CHECKPOINT if since is None else since.names[0],
        spec="Checkpoints",
        remedy="Write a checkpoint, and configure the writers to write them.",
        repair="checkpoint",
    )


def _hint(facts: LogFacts) -> Iterator[Finding]:
    newest = facts.listing.checkpoints[-1] if facts.listing.checkpoints else None
    if newest is None or facts.hinted is None or facts.hinted >= newest.version:
        if newest is not None and not facts.listing.has_last_checkpoint:
            yield Finding(
                severity="note",
                finding="no hint",
                problem="There are checkpoints, but no _last_checkpoint.",
                reason="Readers have to list the whole log to find the newest checkpoint.",
                evidence=newest.names[0],
                spec="Last Checkpoint File",
                remedy="The next checkpoint writes it.",
                repair="checkpoint",
            )
        return
    yield Finding(
        severity="note",
        finding="stale hint",
        problem=f"_last_checkpoint names version {facts.hinted}, and there is a checkpoint of "
        f"version {newest.version}.",
        reason="Readers that use it read more commits than they need; the result is the same.",
        evidence=LAST_CHECKPOINT,
        spec="Last Checkpoint File",
        remedy="The next checkpoint replaces it.",
        repair="checkpoint",
    )


def _stray_names(facts: LogFacts) -> Iterator[Finding]:
    listing = facts.listing
    unfinished = [name for name in listing.foreign if is_temporary(name)]
    meant = {name: found for name in listing.foreign if (found := meant_name(name)) is not None}
    others = (name for name in listing.foreign if name not in meant)
    foreign = [name for name in others if not is_temporary(name)]
    yield from _other_widths(meant)
    if unfinished:
        yield Finding(
            severity="note",
            finding="unfinished files in the log",
            problem=f"{count(len(unfinished), 'file')} in the log folder "
            f"{'is' if len(unfinished) == 1 else 'are'} unfinished.",
            reason="A writer is at work now, or it was killed before it renamed its file.",
            evidence=unfinished[0],
            spec="File Types",
            remedy="Readers ignore them; a log cleanup deletes those older than a day.",
            repair="clean-log",
        )
    if foreign:
        shown = ", ".join(name[:80] for name in foreign[:_SHOWN])
        more = " and others" if len(foreign) > _SHOWN else ""
        yield Finding(
            severity="note",
            finding="foreign files in the log",
            problem=f"{count(len(foreign), 'file')} in the log folder "
            f"{'is' if len(foreign) == 1 else 'are'} not part of the log: {shown}{more}.",
            reason="The log has no files of "
            f"{'this name' if len(foreign) == 1 else 'such names'}: readers ignore "
            f"{'it' if len(foreign) == 1 else 'them'}.",
            evidence=foreign[0],
            spec="File Types",
            remedy="Nothing needs to be done; delta-explorer never touches them.",
        )
    known = {*listing.commits, *(found.version for found in listing.checkpoints)}
    newest = max(known, default=-1)
    lonely = [version for version in listing.checksums if version not in known]
    yield from _beyond_the_newest(facts, newest)
    lonely = [version for version in lonely if version < newest]
    if lonely:
        yield Finding(
            severity="note",
            finding="checksum without a version",
            problem=f"The checksum of version {lonely[0]} has no commit"
            + (f", nor have {len(lonely) - 1:,} others." if len(lonely) > 1 else "."),
            reason="The commit was removed, or never written.",
            evidence=f"{lonely[0]:020}.crc",
            spec="Version Checksum File",
            remedy="Nothing is lost; a log cleanup deletes the checksums of removed versions.",
            repair="clean-log",
        )


def _other_widths(meant: Mapping[str, LogFileName]) -> Iterator[Finding]:
    """Names that would be the log's if their number had twenty digits."""
    if not meant:
        return
    shown = ", ".join(
        f"{name[:80]} (a {found.kind.value} of version {found.version})"
        for name, found in list(meant.items())[:_SHOWN]
    )
    more = f" and {len(meant) - _SHOWN:,} more" if len(meant) > _SHOWN else ""
    have = "has" if len(meant) == 1 else "have"
    yield Finding(
        severity="warning",
        finding="log files with a number of another length",
        problem=f"{count(len(meant), 'file')} in the log folder {have} a version that is not "
        f"written with twenty digits: {shown}{more}.",
        reason="Readers that follow the specification ignore such names, as this one does. Delta "
        "Spark accepts any number of digits: it counts the rows of such a commit where its "
        "version is the next one, and otherwise refuses the table.",
        evidence=next(iter(meant)),
        spec="File Types",
        remedy="Find out who wrote them. Move them out of the log folder; if their rows belong "
        "to the table, commit the rows again.",
    )


def _beyond_the_newest(facts: LogFacts, newest: int) -> Iterator[Finding]:
    """What writers make only of versions that are committed, and no commit is there."""
    beyond = {f"{version:020}.crc": version for version in facts.listing.checksums}
    beyond |= {found.name: found.last for found in facts.listing.compactions}
    names = sorted(name for name, version in beyond.items() if version > newest >= 0)
    if names:
        last = max(beyond[name] for name in names)
        yield Finding(
            severity="warning",
            finding="newer versions are gone",
            problem=f"{names[-1]} is of version {last}, but the newest version is {newest}.",
            reason="Checksums and log compactions are written after their commits: the commits "
            "were removed, or the copy of the log is incomplete. The next commit reuses their "
            "version.",
            evidence=names[-1],
            spec="Delta Log Entries",
            remedy="Restore the commits from a backup, or check the copy, before anyone writes.",
        )


def _repeated(facts: LogFacts) -> Iterator[Finding]:
    """Two commits of one transaction: a writer that saw no answer and committed again."""
    seen: dict[str, int] = {}
    twice: list[tuple[int, int]] = []
    for version, body in facts.provenance.items():
        txn = body.get("txnId")
        if isinstance(txn, str) and txn and (first := seen.setdefault(txn, version)) != version:
            twice.append((first, version))
    if not twice:
        return
    first, second = twice[0]
    pairs = [f"versions {one} and {other}" for one, other in twice[:_SHOWN]]
    more = f"; and {len(twice) - _SHOWN:,} more" if len(twice) > _SHOWN else ""
    named = "; ".join(pairs)
    txn = str(facts.provenance[second]["txnId"])
    yield Finding(
        severity="error",
        finding="transaction committed twice",
        problem=f"The same transaction committed twice: {named}{more}."
        if len(twice) > 1
        else f"The same transaction committed {named}.",
        reason=f"Both have the transaction id {txn[:60]!r}: a writer got no answer and "
        "committed again, or the store let two writers create the same file.",
        evidence=render_commit_name(second),
        spec="Commit Provenance Information",
        remedy="Compare both versions; restore the earlier one if rows are duplicated.",
        repair=f"restore --version {second - 1}",
    )


def _expired(facts: LogFacts) -> Iterator[Finding]:
    """What a cleanup would remove now, by names and times; nothing where what the table asks for
    cannot be read."""
    if any(item.unread_in(facts.configuration) for item in (LOG_RETENTION, LOG_CLEANUP)):
        return
    cutoff_ms = log_cutoff_ms(facts.now_ms, LOG_RETENTION.value_of(facts.configuration))
    old = [
        version
        for version in facts.listing.commits
        if (time := facts.time_of(version)) is not None and time <= cutoff_ms
    ]
    cut = [found.version for found in facts.listing.checkpoints if old and found.version <= old[-1]]
    names = [
        name
        for name in facts.sizes
        if cut and name[:20].isascii() and name[:20].isdigit() and int(name[:20]) < cut[-1]
    ]
    if not names:
        writers = _writers(facts)
        if len(old) > CHECKPOINT_INTERVAL.value_of(facts.configuration) and not cut:
            yield Finding(
                severity="note",
                finding="nothing to cut the log at",
                problem=f"{are(len(old), 'commit')} past delta.logRetentionDuration and cannot be "
                "removed.",
                reason="A log cleanup deletes what is before a checkpoint, and none is that old."
                + (f" The newest commits were made by {writers}." if writers else ""),
                evidence=render_commit_name(old[0]),
                spec="Metadata Cleanup",
                remedy="Write checkpoints. Once one is old enough, a log cleanup deletes what is "
                "before it.",
                repair="checkpoint",
            )
        return
    size = render_byte_size(sum(facts.sizes[name] for name in names))
    is_on = LOG_CLEANUP.value_of(facts.configuration)
    yield Finding(
        severity="note",
        finding="expired log files",
        problem=f"{count(len(names), 'file')} of the log ({size}) "
        f"{'is' if len(names) == 1 else 'are'} past {'its' if len(names) == 1 else 'their'} "
        "retention.",
        reason=_who_does_not_clean(facts)
        if is_on
        else "The table turns log cleanup off (delta.enableExpiredLogCleanup).",
        evidence=min(names),
        spec="Metadata Cleanup",
        remedy=f"A log cleanup deletes them; versions before {cut[-1]} can then not be opened.",
        repair="clean-log",
    )


def _who_does_not_clean(facts: LogFacts) -> str:
    writers = _writers(facts)
    if not writers:
        return "No writer has removed them: many never do, and others only after a checkpoint."
    return (
        f"The newest commits were made by {writers}, and none removed them: many writers never "
        "do, and others only after a checkpoint."
    )


def _writers(facts: LogFacts) -> str:
    """The engines of the newest commits, the most frequent first; empty where none is told."""
    engines = Counter(
        body["engineInfo"][:80]
        for body in facts.provenance.values()
        if isinstance(body.get("engineInfo"), str)
    )
    return ", ".join(name for name, _ in engines.most_common(_SHOWN))
