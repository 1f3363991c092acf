"""Writing the hint to the newest checkpoint (spec: Last Checkpoint File)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from explorer.errors import InvalidArgumentError
from explorer.log.folder.last_checkpoint import HINT_PATH, read_hint
from explorer.protocol.arrow_types import delta_schema
from explorer.protocol.last_checkpoint import LastCheckpoint, render_last_checkpoint
from explorer.protocol.schema import render_schema
from explorer.storage.ports import WriteStore

if TYPE_CHECKING:
    import pyarrow as pa

# as in the reference: every open of the table reads the hint
_LONGEST_SCHEMA = 20_000
MOST_REPEATED: Final = 30
"""So many actions, and so many sidecars, of a V2 checkpoint the hint repeats at most."""


def write_hint(store: WriteStore, last: LastCheckpoint) -> bool:
    """Write `_last_checkpoint`, and say whether: one that names a newer version stays."""
    named = read_hint(store).version
    if named is not None and named > last.version:
        return False
    store.write(HINT_PATH, render_last_checkpoint(last))
    return True


def build_checkpoint_schema(schema: pa.Schema) -> Mapping[str, Any] | None:
    """The schema of a checkpoint file as the hint repeats it; None for one that is long,
    or that the types of Delta cannot say."""
    try:
        text = render_schema(delta_schema(schema))
    except InvalidArgumentError:
        return None
    if len(text) > _LONGEST_SCHEMA:
        return None
    found: Mapping[str, Any] = orjson.loads(text)
    return found
