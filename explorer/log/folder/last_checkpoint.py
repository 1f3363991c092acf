"""The hint to the newest checkpoint, checked against the listing (spec: Last Checkpoint File).

The listing tells which checkpoints there are. What the hint repeats of a V2
checkpoint is used where the listing has that very checkpoint and the hint's checksum
shows that it is whole; a hint that is wrong is worth a `Problem`, because readers
that trust it are misled.
"""

from __future__ import annotations

from typing import Final

from explorer.errors import CorruptLogError, NotFoundError, Problem, StorageError
from explorer.log.folder.listing import CheckpointFiles, LogListing
from explorer.log.small_file import LARGEST_HINT, read_small_file
from explorer.protocol.filenames import LAST_CHECKPOINT, LOG_FOLDER
from explorer.protocol.last_checkpoint import (
    EmbeddedCheckpoint,
    LastCheckpoint,
    parse_last_checkpoint,
)
from explorer.records import record
from explorer.storage.ports import ReadStore

_SPEC = "Last Checkpoint File"
_REMEDY = "Nothing is lost: the listing was read instead. The next checkpoint replaces the hint."

HINT_PATH: Final = f"{LOG_FOLDER}/{LAST_CHECKPOINT}"


@record
class Hint:
    """What `_last_checkpoint` says: `last`, or, in one that cannot be read, the reason in
    `fault`. Where there is no such file, both are None."""

    last: LastCheckpoint | None = None
    fault: str | None = None

    @property
    def version(self) -> int | None:
        """The version that it names; None without one that can be read."""
        return None if self.last is None else self.last.version


def read_hint(store: ReadStore) -> Hint:
    """The hint: the one reader of it, and the one limit (`LARGEST_HINT`).

    Raises `StorageError` where the store does.
    """
    try:
        return Hint(last=parse_last_checkpoint(read_small_file(store, HINT_PATH, LARGEST_HINT)))
    except NotFoundError:
        return Hint()
    except CorruptLogError as error:
        return Hint(fault=error.reason)


def find_embedded(
    store: ReadStore, listing: LogListing, files: CheckpointFiles
) -> EmbeddedCheckpoint | None:
    """What the hint repeats of the checkpoint `files`, where it repeats enough of it;
    None also where the hint cannot be read, which `validate_hint` tells."""
    if not listing.has_last_checkpoint or files.kind != "v2":
        return None
    try:
        hint = read_hint(store).last
    except StorageError:
        return None
    if hint is None:
        return None
    found = hint.embedded
    # a flipped bit in it would be another name of a file or another property, unseen
    if found is None or hint.checksum is None or hint.version != files.version:
        return None
    # a checkpoint without sidecars has its files in its top level, not repeated here
    whole = found.non_file_actions is not None and bool(found.sidecar_files)
    return found if whole and found.path == files.names[0] else None


def validate_hint(store: ReadStore, listing: LogListing) -> list[Problem]:
    """What is wrong with `_last_checkpoint`: it cannot be read, its checksum does not
    fit, or no complete checkpoint of its version is there. A missing or older hint is
    no problem."""
    if not listing.has_last_checkpoint:
        return []
    hint = read_hint(store)
    if hint.fault is not None:
        return [_problem("The hint _last_checkpoint cannot be read.", hint.fault)]
    # without a file: it is being replaced just now
    if hint.last is None or any(found.version == hint.version for found in listing.checkpoints):
        return []
    if hint.last.version > (newest := listing.latest_version or 0):
        return [
            _problem(
                f"The hint _last_checkpoint names version {hint.last.version}, but the newest "
                f"version in the log is {newest}.",
                "The newer commits and their checkpoint were removed, or the copy of the log is "
                "incomplete.",
                "Restore them from a backup. If they never existed, the next checkpoint replaces "
                "the hint.",
            )
        ]
    return [
        _problem(
            f"The hint _last_checkpoint names version {hint.version}, which has no "
            "complete checkpoint.",
            "The checkpoint was removed, or never finished.",
        )
    ]


def _problem(problem: str, reason: str, remedy: str = _REMEDY) -> Problem:
    return Problem(
        kind="checkpoint_unusable",
        problem=problem,
        reason=reason,
        remedy=remedy,
        place=LAST_CHECKPOINT,
        spec=_SPEC,
    )
