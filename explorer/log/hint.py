"""The hint to the newest checkpoint, held against the listing (spec: Last Checkpoint File).

The listing tells which checkpoints there are. What the hint repeats of a V2
checkpoint is used where the listing has that very checkpoint and the hint's checksum
shows that it is whole; a hint that is wrong is worth a `Problem`, because readers
that trust it are misled.
"""

from __future__ import annotations

from explorer.errors import CorruptLogError, DeltaError, NotFoundError, Problem
from explorer.log.listing import CheckpointFiles, LogListing
from explorer.protocol.filenames import LAST_CHECKPOINT, LOG_FOLDER
from explorer.protocol.last_checkpoint import (
    EmbeddedCheckpoint,
    LastCheckpoint,
    parse_last_checkpoint,
)
from explorer.storage.ports import ReadStore

_SPEC = "Last Checkpoint File"
_REMEDY = "Nothing is lost: the listing was read instead. The next checkpoint replaces the hint."

# those of tables with thousands of columns have some MB
_LARGEST = 16 * 2**20


def find_embedded(
    store: ReadStore, listing: LogListing, files: CheckpointFiles
) -> EmbeddedCheckpoint | None:
    """What the hint repeats of the checkpoint `files`, where it repeats enough of it;
    None also where the hint cannot be read, which `validate_hint` tells."""
    if not listing.has_last_checkpoint or files.kind != "v2":
        return None
    try:
        hint = _read_hint(store)
    except DeltaError:
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
    try:
        hint = _read_hint(store)
    except NotFoundError:
        return []  # being replaced just now
    except CorruptLogError as error:
        return [_problem("The hint _last_checkpoint cannot be read.", error.reason)]
    if any(found.version == hint.version for found in listing.checkpoints):
        return []
    return [
        _problem(
            f"The hint _last_checkpoint names version {hint.version}, which has no "
            "complete checkpoint.",
            "The checkpoint was removed, or never finished.",
        )
    ]


def hint_version(store: ReadStore, listing: LogListing) -> int | None:
    """The version of the checkpoint that `_last_checkpoint` names; None where there is no such
    file. One that cannot be read is told by `validate_hint`, and raises `CorruptLogError`."""
    if not listing.has_last_checkpoint:
        return None
    try:
        return _read_hint(store).version
    except NotFoundError:
        return None


def _read_hint(store: ReadStore) -> LastCheckpoint:
    data = store.read(f"{LOG_FOLDER}/{LAST_CHECKPOINT}", _LARGEST + 1)
    if len(data) > _LARGEST:
        raise CorruptLogError(
            "The hint _last_checkpoint cannot be read.",
            reason=f"It is larger than {_LARGEST >> 20} MB.",
            remedy=_REMEDY,
            spec=_SPEC,
        )
    return parse_last_checkpoint(data)


def _problem(problem: str, reason: str) -> Problem:
    return Problem(
        kind="checkpoint_unusable",
        problem=problem,
        reason=reason,
        remedy=_REMEDY,
        place=LAST_CHECKPOINT,
        spec=_SPEC,
    )
