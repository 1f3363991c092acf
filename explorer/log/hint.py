"""The hint to the newest checkpoint, held against the listing (spec: Last Checkpoint File).

Nothing here rests on it: the listing tells which checkpoints there are. Readers
that trust it are misled by one that is wrong, so it is worth a `Problem`.
"""

from __future__ import annotations

from explorer.errors import CorruptLogError, NotFoundError, Problem
from explorer.log.listing import LogListing
from explorer.protocol.filenames import LAST_CHECKPOINT, LOG_FOLDER
from explorer.protocol.last_checkpoint import parse_last_checkpoint
from explorer.storage.ports import ReadStore

_SPEC = "Last Checkpoint File"
_REMEDY = "Nothing is lost: the listing was read instead. The next checkpoint replaces the hint."


def validate_hint(store: ReadStore, listing: LogListing) -> list[Problem]:
    """What is wrong with `_last_checkpoint`: it cannot be read, or no complete
    checkpoint of its version is there. A missing or older hint is no problem."""
    if not listing.has_last_checkpoint:
        return []
    try:
        hint = parse_last_checkpoint(store.read(f"{LOG_FOLDER}/{LAST_CHECKPOINT}"))
    except NotFoundError:
        return []  # being replaced just now
    except CorruptLogError as error:
        return [
            Problem(
                kind="checkpoint_unusable",
                problem="The hint _last_checkpoint cannot be read.",
                reason=error.reason,
                remedy=_REMEDY,
                place=LAST_CHECKPOINT,
                spec=_SPEC,
            )
        ]
    if any(found.version == hint.version for found in listing.checkpoints):
        return []
    return [
        Problem(
            kind="checkpoint_unusable",
            problem=f"The hint _last_checkpoint names version {hint.version}, which has no "
            "complete checkpoint.",
            reason="The checkpoint was removed, or never finished.",
            remedy=_REMEDY,
            place=LAST_CHECKPOINT,
            spec=_SPEC,
        )
    ]
