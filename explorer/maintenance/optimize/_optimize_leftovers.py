"""Files that an optimize wrote and that no version knows: those of a run that ended early, or
of a task that was tried again.

They are found by a listing of the folders that the run wrote into, because a failed task tells
nobody how far it came. A task that still writes when its job has failed may leave one more:
that one is a stray file like any other, which vacuum takes.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from explorer.errors import DeltaError, NotFoundError
from explorer.maintenance.documents.leftovers import Leftovers
from explorer.pipeline.rewrite.write_files import TARGET
from explorer.storage.ports import WriteStore


def remove_leftovers(
    store: WriteStore, named: pa.Table, keep: Collection[str] = frozenset()
) -> Leftovers:
    """Delete what a run wrote under the names that `named` gives its groups, but for the paths
    of `keep`. Raises nothing of the store's: what cannot be removed is told."""
    targets = set(named.column(TARGET).to_pylist())
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
