"""Files that a writer wrote and that no version knows: those of a run that ended early, or
of a task that was tried again.

They are found by a listing of the folders that the run wrote into, because a failed task tells
nobody how far it came. A task that still writes when its job has failed may leave one more:
that one is a stray file like any other, which vacuum takes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from explorer.errors import DeltaError, NotFoundError
from explorer.storage.ports import WriteStore
from explorer.table.counts import count


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


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _removed(store: WriteStore, path: str) -> bool:
    try:
        store.delete(path)
    except DeltaError:
        return False
    return True
