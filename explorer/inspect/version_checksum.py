"""Whether a version's checksum file agrees with its log (spec: Version Checksum File)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from explorer.errors import DeltaError, NotFoundError, Problem
from explorer.protocol.filenames import LOG_FOLDER, render_checksum_name
from explorer.storage.ports import ReadStore
from explorer.table.snapshot import Snapshot

_SPEC = "Version Checksum File"

# name in the file -> (figure of the snapshot, in words)
_FIGURES = {
    "numFiles": ("num_files", "files"),
    "tableSizeBytes": ("size_in_bytes", "bytes"),
    "numDeletedRecordsOpt": ("num_deleted_rows", "rows hidden by deletion vectors"),
    "numDeletionVectorsOpt": ("num_deletion_vectors", "deletion vectors"),
}


def validate_checksum(store: ReadStore, snapshot: Snapshot) -> list[Problem]:
    """What the checksum of the snapshot's version says otherwise than its log.

    A version without one is fine; so is a figure that it leaves out.
    """
    name = render_checksum_name(snapshot.version)
    try:
        data = store.read(f"{LOG_FOLDER}/{name}")
        claims = orjson.loads(data)
    except NotFoundError:
        return []
    except (DeltaError, orjson.JSONDecodeError):
        return [_problem(name, f"The checksum {name} cannot be read.", "It is not JSON.")]
    if not isinstance(claims, dict):
        return [_problem(name, f"The checksum {name} cannot be read.", "It is not an object.")]
    return list(_differences(name, claims, snapshot))


def _differences(name: str, claims: Mapping[str, Any], snapshot: Snapshot) -> Iterator[Problem]:
    for key, (figure, words) in _FIGURES.items():
        claimed, counted = claims.get(key), getattr(snapshot, figure)
        if claimed is not None and claimed != counted:
            shown = json.dumps(claimed)[:40]
            yield _problem(
                name,
                f"The checksum of version {snapshot.version} disagrees with the log.",
                f"It claims {shown} {words}; the log holds {counted}.",
            )


def _problem(name: str, problem: str, reason: str) -> Problem:
    return Problem(
        kind="log_corrupt",
        problem=problem,
        reason=reason,
        remedy="The log decides, and is what is shown here; report this to the writer of the "
        "version, and check that no commit was lost.",
        place=name,
        spec=_SPEC,
    )
