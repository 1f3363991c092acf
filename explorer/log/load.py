"""From a listing to one loaded version, by whichever checkpoint can be used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.errors import CorruptLogError, NotFoundError, Problem, UnusableCheckpointError
from explorer.log.action_fields import FileAction
from explorer.log.commit_file import lines_backwards, parse_action
from explorer.log.key_cache import KeyCache
from explorer.log.listing import LogListing
from explorer.log.segment import LogSegment, build_segment
from explorer.log.small_actions import SmallActions
from explorer.log.tail import Tail, replay_commits
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import LOG_FOLDER, render_commit_name, render_commit_path
from explorer.storage.ports import ObjectInfo, ReadStore

if TYPE_CHECKING:
    from explorer.log.checkpoint import Checkpoint
    from explorer.log.state import LogState


@dataclass(frozen=True, kw_only=True)
class LoadedVersion:
    """One version, read as far as opening needs: its few actions and its commits.

    `listing` is the one it was put together from, less the checkpoints that turned
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
        from explorer.log.state import LogState  # noqa: PLC0415  # see above

        return LogState(self.store, self.checkpoint, self.tail, self.cache)

    def count(self, action: FileAction) -> int:
        """How many live files ("add") or tombstones ("remove") there are."""
        if self.checkpoint is None:
            rows = self.tail.add_rows if action == "add" else self.tail.remove_rows
            return rows.num_rows
        return self.state.count(action)

    @property
    def nbytes(self) -> int:
        """What keeping it costs, the cache of keys not counted."""
        return self.tail.add_rows.nbytes + self.tail.remove_rows.nbytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
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
    if held is not None and _newest_file(store, held.segment) != held.newest_file:
        held = None  # the table was deleted and made anew
    choice = _choose(store, listing, version, held)
    segment, checkpoint = choice.segment, choice.checkpoint
    if held and held.segment == segment and held.checkpoint is checkpoint:
        return held
    tail = _tail(store, choice, held, watch)
    return LoadedVersion(
        listing=choice.listing,
        segment=segment,
        checkpoint=checkpoint,
        tail=tail,
        small=tail.small if checkpoint is None else tail.small.over(checkpoint.small),
        problems=(*_incomplete(listing, segment), *choice.problems, *tail.problems),
        newest_file=_newest_file(store, segment),
        store=store,
        cache=cache,
    )


def load_protocol_and_metadata(
    store: ReadStore, listing: LogListing, version: int | None
) -> SmallActions:
    """Only the newest protocol and metadata: commits are read no further than needed."""
    choice = _choose(store, listing, version, None)
    segment, checkpoint = choice.segment, choice.checkpoint
    found = SmallActions()
    versions = segment.commits[::-1]
    files = store.read_many(render_commit_path(number) for number in versions)
    for number, data in zip(versions, files, strict=True):
        if b'"protocol"' in data or b'"metaData"' in data:
            name = render_commit_name(number)
            for at, line in lines_backwards(data):
                found.offer(parse_action(line, name, at), f"{name}:{at}")
        if found.protocol is not None and found.metadata is not None:
            return found
    return found if checkpoint is None else found.over(checkpoint.small)


def _newest_file(store: ReadStore, segment: LogSegment) -> ObjectInfo | None:
    if segment.commits or segment.checkpoint is None:
        path = render_commit_path(segment.version)
    else:
        path = f"{LOG_FOLDER}/{segment.checkpoint.names[0]}"
    try:
        return store.stat(path)
    except NotFoundError:
        return None


def _choose(
    store: ReadStore, listing: LogListing, version: int | None, held: LoadedVersion | None
) -> _Choice:
    problems: list[Problem] = []
    failed: UnusableCheckpointError | None = None
    while True:
        try:
            segment = build_segment(listing, version)
        except CorruptLogError as error:
            raise failed or error from error
        checkpoint: Checkpoint | None = None
        if segment.checkpoint is not None:
            if held and held.checkpoint and held.checkpoint.files == segment.checkpoint:
                checkpoint = held.checkpoint
            else:
                # a table without a checkpoint opens without pyarrow
                from explorer.log.checkpoint import read_checkpoint  # noqa: PLC0415  # see above

                try:
                    checkpoint = read_checkpoint(store, segment.checkpoint)
                except UnusableCheckpointError as error:
                    failed = failed or error
                    problems.append(Problem.of(error, segment.checkpoint.names[0]))
                    listing = listing.without(segment.checkpoint)
                    continue
        return _Choice(
            listing=listing, segment=segment, checkpoint=checkpoint, problems=tuple(problems)
        )


def _tail(store: ReadStore, choice: _Choice, held: LoadedVersion | None, watch: Watch) -> Tail:
    wanted = choice.segment.commits
    if (
        held is None
        or held.segment.commits.start != wanted.start
        or held.segment.version > choice.segment.version
        or held.checkpoint is not choice.checkpoint
    ):
        return replay_commits(store, wanted, watch)
    new = range(held.segment.version + 1, wanted.stop)
    if not new:
        return held.tail
    from explorer.log.extend import extend_tail  # noqa: PLC0415  # it brings Arrow with it

    return extend_tail(replay_commits(store, new, watch), held.tail)


def _incomplete(listing: LogListing, segment: LogSegment) -> list[Problem]:
    used = -1 if segment.checkpoint is None else segment.checkpoint.version
    return [
        Problem(
            kind="checkpoint_unusable",
            problem=f"The checkpoint of version {found.version} is incomplete.",
            reason=f"Only {found.parts} of its parts are there.",
            remedy="Nothing is lost: an older checkpoint or the commits were read instead. "
            "Write a new checkpoint.",
            place=found.names[0],
            spec="Checkpoints",
        )
        for found in listing.incomplete_checkpoints
        if used < found.version <= segment.version
    ]
