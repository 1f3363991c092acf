"""From a listing to one loaded version, by whichever checkpoint can be used."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.errors import (
    CorruptLogError,
    DeltaError,
    NotFoundError,
    Problem,
    UnusableCheckpointError,
)
from explorer.log.actions.fields import FileAction
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.log.folder.listing import CheckpointFiles, LogListing, info_of
from explorer.log.folder.segment import (
    LogSegment,
    build_segment,
    in_words,
    missing_versions,
    no_other_way,
)
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.reconcile.tail import Tail, replay_commits
from explorer.log.state.key_cache import KeyCache
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.records import record
from explorer.storage.ports import ObjectInfo, RangeStore, ReadStore, offers

if TYPE_CHECKING:
    from explorer.log.checkpoint.read import Checkpoint
    from explorer.log.state.reconciled_files import LogState


@dataclass(frozen=True, kw_only=True)
class LoadedVersion:
    """One version, read as far as opening needs: its few actions and its commits.

    `listing` is the one it was read from, less the checkpoints that turned
    out to be unusable. `newest_file` is what the store says of the last file that was
    read: as long as it says so, the log is the same one.
    """

    listing: LogListing
    segment: LogSegment
    checkpoint: Checkpoint | None
    tail: Tail
    small: SmallActions
    problems: tuple[Problem, ...]
    newest_file: ObjectInfo | None
    store: ReadStore
    cache: KeyCache

    @cached_property
    def state(self) -> LogState:
        """Its files; made when first asked for, because it brings Arrow with it."""
        from explorer.log.state.reconciled_files import LogState  # noqa: PLC0415  # see above

        return LogState(self.store, self.checkpoint, self.tail, self.cache)

    def count(self, action: FileAction) -> int:
        """How many live files ("add") or tombstones ("remove") there are."""
        if self.checkpoint is None:
            rows = self.tail.add_rows if action == "add" else self.tail.remove_rows
            return rows.num_rows
        return self.state.count(action)

    def commits_since(self, version: int, watch: Watch) -> Tail | None:
        """What the commits after an older version say, up to this one; None where they
        cannot be read."""
        wanted = range(version + 1, self.segment.version + 1)
        return self.tail if self.segment.commits == wanted else self.replayed(wanted, watch)

    def replayed(self, versions: range, watch: Watch) -> Tail | None:
        """What these commits say, read again; None where they cannot be read."""
        if missing_versions(self.listing.commits, versions.start, versions.stop - 1):
            return None
        try:
            return replay_commits(self.store, versions, watch, self.listing.compactions)
        except (CorruptLogError, NotFoundError):
            return None  # a checkpoint after it may have made the version readable all the same

    def lies_in(self, store: ReadStore) -> bool:
        """Whether the log in `store` still is the one that this was read from."""
        found = _newest_file(store, replace(self.listing, stored={}), self.segment)
        return self.newest_file is not None and (
            found == self.newest_file
            if not self.listing.stored
            # of one object stores may tell the time to the second, and to less in a listing
            else found is not None and _roughly(found) == _roughly(self.newest_file)
        )

    @property
    def num_read_alone(self) -> int:
        """How many of its commits were read one by one: a compaction was read for the others."""
        spared = sum(one.last - one.first + 1 for one in self.tail.compactions)
        return len(self.segment.commits) - spared

    @property
    def nbytes(self) -> int:
        """What keeping it costs, the cache of keys not counted."""
        return self.tail.add_rows.nbytes + self.tail.remove_rows.nbytes


@record
class _Choice:
    """A segment, its checkpoint as far as it was read, and what is wrong with others."""

    listing: LogListing
    segment: LogSegment
    checkpoint: Checkpoint | None
    problems: tuple[Problem, ...]


def load_version(
    store: ReadStore,
    listing: LogListing,
    version: int | None,
    cache: KeyCache,
    held: LoadedVersion | None = None,
    watch: Watch = UNWATCHED,
) -> LoadedVersion:
    """Load `version`, or the latest where it is None.

    What `held` has read already is used where it fits. A checkpoint that cannot
    be used is a `Problem`, and the next older one, or the commits, take its place.
    """
    if held is not None and _newest_file(store, listing, held.segment) != held.newest_file:
        held = None  # the table was deleted and created again
    choice, tail = _choose_and_replay(store, listing, version, held, watch)
    segment, checkpoint = choice.segment, choice.checkpoint
    if held and held.segment == segment and held.checkpoint is checkpoint:
        return held
    if tail is None:
        tail = _tail(store, choice, held, watch)
    in_checkpoint = () if checkpoint is None else checkpoint.inline.problems
    return LoadedVersion(
        listing=choice.listing,
        segment=segment,
        checkpoint=checkpoint,
        tail=tail,
        small=tail.small if checkpoint is None else tail.small.over(checkpoint.small),
        problems=(*_incomplete(listing, segment), *choice.problems, *in_checkpoint, *tail.problems),
        newest_file=_newest_file(store, listing, segment),
        store=store,
        cache=cache,
    )


@record
class KnownActions:
    """The protocol and metadata of a version, either None where the log has none, and
    what the store says of the last file that was read, as in `LoadedVersion`."""

    version: int
    small: SmallActions
    newest_file: ObjectInfo | None


def load_protocol_and_metadata(
    store: ReadStore, listing: LogListing, version: int | None, known: KnownActions | None = None
) -> KnownActions:
    """Only the newest protocol and metadata: commits are read no further than needed,
    and not up to what is `known` of an older version of the same log."""
    segment = build_segment(listing, version)
    if known is not None and _leads_to(store, listing, known, segment):
        versions, older = range(known.version + 1, segment.version + 1), known.small
        if not versions:
            return known
    else:
        choice = _choose(store, listing, version, None, table_only=True)
        segment, versions = choice.segment, choice.segment.commits
        older = SmallActions() if choice.checkpoint is None else choice.checkpoint.small
    found = _newest_of_both(store, versions)
    return KnownActions(
        version=segment.version,
        small=SmallActions(
            protocol=found.protocol or older.protocol, metadata=found.metadata or older.metadata
        ),
        newest_file=_newest_file(store, listing, segment),
    )


def _leads_to(
    store: ReadStore, listing: LogListing, known: KnownActions, segment: LogSegment
) -> bool:
    """Whether the log is the one that `known` was read from, and the commits after it are
    there, and no more than without it."""
    between = segment.version - known.version
    return (
        known.newest_file is not None
        and 0 <= between <= len(segment.commits)
        and not missing_versions(listing.commits, known.version, segment.version)
        and info_of(store, listing, render_commit_name(known.version)) == known.newest_file
    )


def _newest_of_both(store: ReadStore, versions: range) -> SmallActions:
    found = SmallActions()
    newest_first = versions[::-1]
    files = store.read_many(render_commit_path(number) for number in newest_first)
    for number, data in zip(newest_first, files, strict=True):
        if may_name(data, "protocol", "metaData"):
            name = render_commit_name(number)
            for at, line in lines_reversed(data):
                found.offer(parse_action(line, name, at), f"{name}:{at}")
        if found.protocol is not None and found.metadata is not None:
            break
    return found


def _newest_file(store: ReadStore, listing: LogListing, segment: LogSegment) -> ObjectInfo | None:
    if segment.commits or segment.checkpoint is None:
        return info_of(store, listing, render_commit_name(segment.version))
    return info_of(store, listing, segment.checkpoint.names[0])


def _roughly(info: ObjectInfo) -> tuple[int, int]:
    return info.size, info.modified_ms // 1000


def _choose_and_replay(
    store: ReadStore,
    listing: LogListing,
    version: int | None,
    held: LoadedVersion | None,
    watch: Watch,
) -> tuple[_Choice, Tail | None]:
    """`_choose`, and meanwhile the commits after the checkpoint that it will choose if that
    can be used: where requests take long and all of it must be read."""
    if not offers(store, RangeStore) or held is not None:
        return _choose(store, listing, version, held), None
    try:
        expected = build_segment(listing, version)
    except CorruptLogError:
        return _choose(store, listing, version, held), None
    if expected.checkpoint is None or not expected.commits:
        return _choose(store, listing, version, held), None
    # see `explorer.storage.concurrent_reads` for why it stands here
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    failed: DeltaError | None = None
    tail: Tail | None = None
    with ThreadPoolExecutor(1, thread_name_prefix="delta-explorer-read") as pool:
        choosing = pool.submit(_choose, store, listing, version, held)
        try:
            tail = replay_commits(store, expected.commits, watch, listing.compactions)
        except DeltaError as error:
            failed = error
        choice = choosing.result()
    if choice.segment != expected:
        return choice, None
    if failed is not None:
        raise failed
    return choice, tail


def _choose(
    store: ReadStore,
    listing: LogListing,
    version: int | None,
    held: LoadedVersion | None,
    *,
    table_only: bool = False,
) -> _Choice:
    """The segment and its checkpoint; `table_only` as in `read_checkpoint`."""
    problems: list[Problem] = []
    failed: dict[str, UnusableCheckpointError] = {}
    # without a checkpoint that cannot be used, the names may speak of an older version alone
    wanted = build_segment(listing, version).version
    while True:
        try:
            segment = build_segment(listing, wanted)
        except DeltaError as error:
            if not failed:
                raise
            raise no_other_way(next(iter(failed.values())), listing, wanted, error) from error
        checkpoint: Checkpoint | None = None
        if segment.checkpoint is not None:
            if held and held.checkpoint and held.checkpoint.files == segment.checkpoint:
                checkpoint = held.checkpoint
            else:
                try:
                    checkpoint = _read_checkpoint(
                        store, listing, segment.checkpoint, problems, table_only=table_only
                    )
                except UnusableCheckpointError as error:
                    failed[segment.checkpoint.names[0]] = error
                    listing = listing.without(segment.checkpoint)
                    continue
        told = [passed_over(error, name, segment) for name, error in failed.items()]
        return _Choice(
            listing=listing,
            segment=segment,
            checkpoint=checkpoint,
            problems=(*told, *problems),
        )


def passed_over(error: UnusableCheckpointError, name: str, segment: LogSegment) -> Problem:
    """A checkpoint that cannot be used, where `segment` leads to the version without it."""
    return _not_lost(error, name, in_words(segment))


def _not_lost(error: UnusableCheckpointError, name: str, instead: str) -> Problem:
    remedy = f"Nothing is lost: the version was read from {instead}. {error.remedy}"
    return replace(Problem.of(error, name), remedy=remedy)


def _read_checkpoint(
    store: ReadStore,
    listing: LogListing,
    files: CheckpointFiles,
    problems: list[Problem],
    *,
    table_only: bool,
) -> Checkpoint:
    """By what the hint repeats of it, where that saves reading Parquet, or where the
    file itself cannot be used: then with a problem more."""
    # a table without a checkpoint opens without what these bring
    from explorer.log.checkpoint.read import (  # noqa: PLC0415  # see above
        build_embedded,
        read_checkpoint,
    )
    from explorer.log.folder.last_checkpoint import find_embedded  # noqa: PLC0415  # see above

    is_parquet = files.names[0].endswith(".parquet")
    if is_parquet and (embedded := find_embedded(store, listing, files)) is not None:
        with contextlib.suppress(UnusableCheckpointError):
            return build_embedded(embedded, files)
    try:
        return read_checkpoint(store, files, listing.stored, table_only=table_only)
    except UnusableCheckpointError as error:
        if is_parquet or (embedded := find_embedded(store, listing, files)) is None:
            raise
        checkpoint = build_embedded(embedded, files)
        problems.append(_not_lost(error, files.names[0], "what _last_checkpoint repeats of it"))
        return checkpoint


def _tail(store: ReadStore, choice: _Choice, held: LoadedVersion | None, watch: Watch) -> Tail:
    wanted = choice.segment.commits
    if (
        held is None
        or held.segment.commits.start != wanted.start
        or held.segment.version > choice.segment.version
        or held.checkpoint is not choice.checkpoint
    ):
        return replay_commits(store, wanted, watch, choice.listing.compactions)
    new = range(held.segment.version + 1, wanted.stop)
    if not new:
        return held.tail
    from explorer.log.reconcile.extend import extend_tail  # noqa: PLC0415  # it brings Arrow with it

    newer = replay_commits(store, new, watch, choice.listing.compactions)
    return extend_tail(newer, held.tail)


def _incomplete(listing: LogListing, segment: LogSegment) -> list[Problem]:
    used = -1 if segment.checkpoint is None else segment.checkpoint.version
    return [
        Problem(
            kind="checkpoint_unusable",
            problem=f"The checkpoint of version {found.version} is incomplete.",
            reason="Only 1 of its parts is there."
            if found.parts == 1
            else f"Only {found.parts} of its parts are there.",
            remedy="Nothing is lost: the version was read from "
            f"{in_words(segment)}. Write a new checkpoint.",
            place=found.names[0],
            spec="Checkpoints",
        )
        for found in listing.incomplete_checkpoints
        if used < found.version <= segment.version
    ]
