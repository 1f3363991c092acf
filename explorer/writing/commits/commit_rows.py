"""The commit of new files, and what becomes of these where it is not made.

Files are written first, and nobody knows them. A statement that surely did not commit takes them
with it. Where nobody knows whether it committed nothing is deleted: the version may be there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from explorer.errors import StorageError
from explorer.progress import UNWATCHED, Watch
from explorer.storage.ports import WriteStore
from explorer.table.counts import count
from explorer.table.times import Clock
from explorer.transaction.commit import Committed, Doubt, commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.staged import StagedCommit
from explorer.writing.files.leftovers import raise_without, remove_files

_TRIES: Final = 5
_SHOWN: Final = 5

StageAgain = Callable[[Conflict], StagedCommit | None]
"""The same rows upon a newer version, where these do not depend on what was won against; None
where the conflict stands. It may raise what ends the statement."""


def commit_rows(  # what to commit, and how
    store: WriteStore,
    staged: StagedCommit,
    paths: Sequence[str],
    *,
    clock: Clock,
    again: StageAgain = lambda _: None,
    watch: Watch = UNWATCHED,
) -> Committed | Conflict:
    """Commit new files, which lie at `paths` below the table's root.

    A conflict is the other commit that stands in the way. Raises `UnsupportedError` where a
    rule forbids the commit, `StorageError` of kind `outcome_unknown` where the version may be
    there. In all cases but the last no file is left behind, as far as the store allows.
    """
    doubt = Doubt()
    try:
        for number in range(1, _TRIES + 1):
            found = commit(store, staged, clock=clock, cancel=watch.cancel, doubt=doubt)
            if isinstance(found, Committed):
                return found
            next_one = again(found) if number < _TRIES else None
            if next_one is None:
                remove_files(store, paths)
                return found
            staged = next_one
        raise AssertionError("the last try ends")
    except BaseException as error:
        if doubt.version is not None:
            if not isinstance(error, Exception):
                raise  # the process is to end, and nothing is deleted
            raise unknown_outcome(staged, doubt.version, paths) from error
        raise_without(store, paths, error)
        raise


def unknown_outcome(staged: StagedCommit, version: int, paths: Sequence[str]) -> StorageError:
    """The error where the store neither confirms nor denies a commit."""
    shown = ", ".join(paths[:_SHOWN])
    more = f" and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else ""
    files = f" It would add {count(len(paths), 'file')}: {shown}{more}." if paths else ""
    return StorageError(
        f"It is unknown whether version {version} was committed.",
        reason="The store failed while it was asked to create the commit, and does not show "
        f"what became of it. Its transaction id is {staged.provenance.transaction_id}.{files}",
        remedy="Nothing was deleted. Look for this transaction id in the newest commits before "
        "writing the rows again; if it never appears, vacuum removes the files.",
        kind="outcome_unknown",
        spec="Delta Log Entries",
    )
