"""What is said of a file of a checkpoint that cannot be read: there is another way then, an
older checkpoint or the commits (spec: Checkpoints)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from explorer.errors import DeltaError, StorageError, UnusableCheckpointError
from explorer.log.small_file import MOST_SIDECARS

WRITE_ANOTHER: Final = "Write a new checkpoint."
"""What helps. Whether anything is lost depends on what else the log holds, which the reader of
one file does not know: whoever puts a version together says it."""


def unusable(path: str, what: str) -> UnusableCheckpointError:
    """The error for one file of a checkpoint."""
    return UnusableCheckpointError(
        f"The checkpoint file {path.rpartition('/')[2]} cannot be used.",
        reason=f"Reading it failed: {what}.",
        remedy=WRITE_ANOTHER,
        spec="Checkpoints",
    )


def too_many_sidecars(path: str) -> UnusableCheckpointError:
    """The error for a checkpoint that names more than `MOST_SIDECARS`."""
    return unusable(path, f"it names more than {MOST_SIDECARS:,} sidecars")


def store_failed(error: StorageError) -> UnusableCheckpointError:
    """A checkpoint that cannot serve now, because the store did not: another may, and
    where none does the store is to blame."""
    return UnusableCheckpointError(
        error.problem,
        reason=error.reason,
        remedy=error.remedy,
        kind=error.kind,
        spec="Checkpoints",
    )


@contextlib.contextmanager
def unusable_if_unreadable(path: str) -> Iterator[None]:
    """Whatever reading a file of a checkpoint raises as `UnusableCheckpointError`."""
    try:
        yield
    except UnusableCheckpointError:
        raise
    except StorageError as error:
        raise store_failed(error) from error
    except DeltaError as error:
        raise unusable(path, error.problem.rstrip(".")) from error
    # what pyarrow raises for broken files; ArrowInvalid is a ValueError
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise unusable(path, first_line.rstrip(".")) from error
