"""Files that a writer wrote and that no version knows: those of a run that ended early, or
of a task that was tried again.

They are found by a listing of the folders that the run wrote into, because a failed task tells
nobody how far it came. A task that still writes when its job has failed may leave one more:
that one is a stray file like any other, which vacuum takes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from explorer.errors import DeltaError, NotFoundError, Problem
from explorer.protocol.filenames import LOG_FOLDER, staging_folder
from explorer.storage.ports import WriteStore, offers
from explorer.storage.tree import TreeStore, walk
from explorer.table.counts import count

_SHOWN: Final = 5
_VECTOR: Final = "deletion_vector_"


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


def raise_without(store: WriteStore, paths: Sequence[str], error: BaseException) -> None:
    """Remove new files because of `error`; where some are left, raise it with a remedy that says
    so."""
    raise_with(remove_files(store, paths), error)


def raise_with(left: Leftovers, error: BaseException) -> None:
    """Where files of a statement that failed by `error` are left, or may be, raise it with a
    remedy that says so."""
    if not isinstance(error, DeltaError) or not (left.left or left.unlisted):
        return
    told = left.sentence
    if left.unlisted:
        told = (
            f"Files with {' or '.join(left.unlisted)} in their names may be left, because a folder "
            "could not be listed: vacuum deletes them once they are older than the retention."
        )
    raise type(error)(
        error.problem,
        reason=error.reason,
        remedy=f"{error.remedy} {told}",
        kind=error.kind,
        spec=error.spec,
    ) from error


def problems_of(left: Leftovers) -> tuple[Problem, ...]:
    """What a statement that succeeded says of files that it made in vain and that are left."""
    if not (left.left or left.unlisted):
        return ()
    shown = ", ".join([*left.left[:_SHOWN], *(f"*{part}*" for part in left.unlisted)])
    return (
        Problem(
            kind="storage_failed",
            problem="Files of tasks that Spark ran twice are left, or may be.",
            reason=f"The store did not list them, or did not delete them: {shown}.",
            remedy="The rows are written, each once: no version names these files. Vacuum deletes "
            "them once they are older than the retention.",
        ),
    )


def remove_files(store: WriteStore, paths: Sequence[str]) -> Leftovers:
    """Delete files that no version knows; what cannot be removed is told."""
    left = [path for path in paths if not _removed(store, path)]
    return Leftovers(num_removed=len(paths) - len(left), left=tuple(left), num_left=len(left))


def remove_leftovers(
    store: WriteStore, targets: Collection[str], keep: Collection[str] = frozenset()
) -> Leftovers:
    """Delete what a run wrote under names that begin with `targets` (a folder and a part of a
    name), but for the paths of `keep`. Raises nothing of the store's: what cannot be removed is
    told."""
    targets = frozenset(targets)
    found: list[str] = []
    unlisted: list[str] = []
    for folder in sorted({_folder(target) for target in targets}):
        try:
            names = store.list_names(folder)
        except NotFoundError:
            continue  # nothing was written there
        except DeltaError:
            unlisted += sorted(target for target in targets if _folder(target) == folder)
            continue
        paths = (f"{folder}/{name}" if folder else name for name in names)
        # a name is the target, the attempt and the number: see `FileForm.path`
        found += [path for path in paths if path.rpartition("-")[0] in targets]
    left = [path for path in found if path not in keep and not _removed(store, path)]
    num_kept = sum(path in keep for path in found)
    return Leftovers(
        num_removed=len(found) - num_kept - len(left),
        left=tuple(left),
        unlisted=tuple(unlisted),
    )


def remove_files_named(
    store: WriteStore, part: str, keep: Collection[str] = frozenset()
) -> Leftovers:
    """Delete what is called by `part`, such as a statement's id, in all folders of a table beside
    the log's, and what lies in the folder that Spark made files in for that statement, but for the
    paths of `keep`. For after a failure: every folder is listed. Raises nothing of the store's:
    what cannot be removed is told."""
    return _remove_listed(store, part, None, keep)


def remove_files_of(store: WriteStore, statement: UUID) -> Leftovers:
    """Delete what a statement wrote, as `remove_files_named`; and its deletion vectors, whose names
    do not have its id."""
    return _remove_listed(store, str(statement), statement, frozenset())


def vector_id(statement: UUID, number: int) -> UUID:
    """The one in the name of a statement's file of deletion vectors; `number` is from 0."""
    return uuid5(statement, f"vectors/{number}")


def _remove_listed(
    store: WriteStore, part: str, statement: UUID | None, keep: Collection[str]
) -> Leftovers:
    found: list[str] = []
    vectors: list[str] = []
    unlisted: tuple[str, ...] = ()
    staged = staging_folder(part)
    try:
        for folder, names in _listed(store):
            start = f"{folder}/" if folder else ""
            is_staged = folder.partition("/")[0] == staged
            found += [start + name for name in names if is_staged or part in name]
            vectors += [start + name for name in names if name.startswith(_VECTOR)]
    except NotFoundError:
        pass  # nothing was written: the table was to be new
    except DeltaError:
        first = () if statement is None else (f"{_VECTOR}{vector_id(statement, 0)}",)
        unlisted = (part, *first)
    if statement is not None:
        # there are no more of its own than there are
        own = {f"{_VECTOR}{vector_id(statement, number)}.bin" for number in range(len(vectors))}
        found += [path for path in vectors if path.rpartition("/")[2] in own]
    found = [path for path in found if path not in keep]
    left = [path for path in found if not _removed(store, path)]
    return Leftovers(
        num_removed=len(found) - len(left),
        left=tuple(left),
        unlisted=unlisted,
        num_left=len(left),
        num_unlisted=len(unlisted),
    )


def _listed(store: WriteStore) -> Iterator[tuple[str, Sequence[str]]]:
    """The folders of a table, and the names of files in each."""
    if not offers(store, TreeStore):
        yield "", store.list_names("")
        return
    for piece in walk(store, without=[LOG_FOLDER]):
        yield piece.folder, piece.files


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _removed(store: WriteStore, path: str) -> bool:
    try:
        store.delete(path)
    except DeltaError:
        return False
    return True
