"""The key by which adds and removes are reconciled (spec: Action Reconciliation).

A logical file is a path together with the unique id of its deletion vector:
`storageType + pathOrInlineDv`, then `@offset` where there is one. As one string,
path and id are parted by NUL, which no path has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorer.protocol.paths import normalise_path

# `/a` and `file:/a`; checked first because nearly every path is relative
MAY_BE_ABSOLUTE = "/fF"
"""What the paths begin with whose key may be another than they are."""


def file_key(path: str, vector: Mapping[str, Any] | None) -> str:
    """The key of one action body, its vector as in the log."""
    if path and path[0] in MAY_BE_ABSOLUTE:
        path = normalise_path(path)
    if vector is None:
        return path
    offset = vector.get("offset")
    unique = f"{path}\0{vector.get('storageType')}{vector.get('pathOrInlineDv')}"
    return unique if offset is None else f"{unique}@{offset}"
