"""Replay of commits, newest first (spec: Action Reconciliation).

What has been decided lives in columns of Arrow; where a commit is read line by line, a
Python object per action exists only meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from explorer.errors import CorruptLogError, DeltaError, NotFoundError, Problem
from explorer.log.actions.action_rows import ActionCollector, ActionRows
from explorer.log.actions.fields import FileAction
from explorer.log.commits.prefetched_columns import LogFile, columns_of, joined_with_columns
from explorer.log.folder.compactions import Step, UnusableCompactionError, plan_replay
from explorer.log.folder.listing import Compaction
from explorer.log.reconcile.replay import Replay
from explorer.log.reconcile.small_actions import SmallActions
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import LOG_FOLDER, render_commit_name, render_commit_path
from explorer.records import record
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    import pyarrow as pa

_PROGRESS_EVERY = 256
_PROGRESS_BYTES = 4 * 2**20
"""Few commits may be long ones."""

# each costs a new beginning; a log with more of them is read commit by commit
_MOST_UNUSABLE = 3


@record
class Tail:
    """What a run of commits, or the JSON of a checkpoint, decides.

    `adds` and `removes` have the columns of `ADD_COLUMNS` and `REMOVE_COLUMNS`,
    oldest first; no key stands twice. `compactions` were read in the place of their commits.
    `sidecars`, and `checkpoint_versions` (what `checkpointMetadata` says), mean nothing in
    commits.
    """

    add_rows: ActionRows
    remove_rows: ActionRows
    small: SmallActions
    problems: tuple[Problem, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    sidecars: tuple[Any, ...] = ()
    checkpoint_versions: tuple[Any, ...] = ()

    @property
    def adds(self) -> pa.Table:
        """The live files, as columns."""
        return self.add_rows.table

    @property
    def removes(self) -> pa.Table:
        """The tombstones, as columns."""
        return self.remove_rows.table

    @property
    def decides_files(self) -> bool:
        """Whether it adds or removes any file."""
        return bool(self.add_rows.num_rows or self.remove_rows.num_rows)


EMPTY_TAIL = Tail(
    add_rows=ActionRows("add"), remove_rows=ActionRows("remove"), small=SmallActions()
)


def replay_commits(
    store: ReadStore,
    versions: range,
    watch: Watch = UNWATCHED,
    compactions: Sequence[Compaction] = (),
) -> Tail:
    """Read the commits of `versions` (ascending) and reconcile them.

    `compactions` are read in the place of the commits for which they stand; one that
    cannot be used is a `Problem`, and its commits are read.

    Raises `CorruptLogError` for a line that cannot be read, naming its place.
    """
    problems: list[Problem] = []
    usable = tuple(compactions) if versions else ()
    while usable:
        try:
            tail = _replay(store, plan_replay(versions, usable), watch)
        except UnusableCompactionError as error:
            if not isinstance(error.__cause__, NotFoundError):  # gone in a cleanup: no harm
                problems.append(error.as_problem)
            failed = error.compaction
            enough = len(problems) >= _MOST_UNUSABLE
            usable = () if enough else tuple(found for found in usable if found != failed)
        else:
            return replace(tail, problems=(*problems, *tail.problems))
    tail = _replay(store, versions[::-1], watch) if versions else EMPTY_TAIL
    return replace(tail, problems=(*problems, *tail.problems))


def replay_commit(data: bytes, version: int) -> Tail:
    """What one commit says, reconciled within itself; raises as `replay_commits`."""
    builder = _TailBuilder()
    builder.read_commit(data, render_commit_name(version), columns_of(data))
    return builder.build()


def _replay(store: ReadStore, newest_first: Sequence[Step], watch: Watch) -> Tail:
    builder = _TailBuilder()
    compactions = tuple(step for step in newest_first if isinstance(step, Compaction))
    files = joined_with_columns(
        store.read_many(map(_path, newest_first)),
        (lambda at: not isinstance(newest_first[at], Compaction)) if compactions else None,
        len(newest_first),
    )
    done, told, untold = 0, -_PROGRESS_EVERY, 0
    while done < len(newest_first):
        if done - told >= _PROGRESS_EVERY or untold >= _PROGRESS_BYTES:
            watch.step(done, len(newest_first), "Reading commits")
            told, untold = done, 0
        step = newest_first[done]
        try:
            found = next(files)
        except DeltaError as error:
            if isinstance(step, Compaction):
                raise UnusableCompactionError(step, error.problem) from error
            if isinstance(error, NotFoundError):
                raise _vanished(step) from error
            raise
        if isinstance(found, LogFile):
            untold += len(found.data)
            done += 1
            if isinstance(step, Compaction):
                builder.read_compaction(found.data, step, found.columns)
            else:
                builder.read_commit(found.data, render_commit_name(step), found.columns)
        else:
            untold += sum(map(len, found.data))
            # of commits alone
            names = [_name(step) for step in newest_first[done : done + len(found.data)]]
            done += len(names)
            builder.read_commits(found.data, names, found.columns)
    return replace(builder.build(), compactions=compactions)


def _name(step: Step) -> str:
    return step.name if isinstance(step, Compaction) else render_commit_name(step)


def _path(step: Step) -> str:
    # not by `_name`: there are a hundred thousand of some
    return f"{LOG_FOLDER}/{step.name}" if isinstance(step, Compaction) else render_commit_path(step)


def replay_json_checkpoint(data: bytes, name: str) -> Tail:
    """The actions of a V2 checkpoint's JSON file (spec: V2 Checkpoint)."""
    builder = _TailBuilder()
    builder.read(data, name, columns_of(data))
    return builder.build()


class _TailBuilder(Replay):
    """A replay whose actions become a `Tail`."""

    def __init__(self) -> None:
        self._rows: dict[FileAction, ActionCollector] = {
            "add": ActionCollector("add"),
            "remove": ActionCollector("remove"),
        }
        super().__init__(
            self._rows["add"],
            self._rows["remove"],
            lambda action, rows: self._rows[action].add_rows(rows),
        )

    def build(self) -> Tail:
        """What was decided."""
        return Tail(
            add_rows=self._rows["add"].rows(),
            remove_rows=self._rows["remove"].rows(),
            small=self.small,
            problems=self.problems,
            sidecars=tuple(self._sidecars),
            checkpoint_versions=tuple(self._checkpoint_versions),
        )


def _vanished(version: int) -> CorruptLogError:
    return CorruptLogError(
        f"Commit {version} disappeared while the log was being read.",
        reason="The listing named it and the store no longer has it: a log cleanup is running, or "
        "the table was deleted.",
        remedy="Open the table again.",
        kind="log_gap",
        spec="Delta Log Entries",
    )
