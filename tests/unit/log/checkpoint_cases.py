"""A table, the forms of checkpoints that are written of it, and what must stay the same."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import explorer
from explorer.log.checkpoint_writing.checkpoint_form import CLASSIC, CheckpointForm
from explorer.log.checkpoint_writing.checkpoint_writer import WrittenCheckpoint, write_checkpoint
from explorer.storage.local import LocalStore
from explorer.table.snapshot import Snapshot
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, metadata, remove, vector

NOW = datetime(2023, 11, 15, tzinfo=UTC)  # a few hours after the times in `tests.tables`
INLINE = CheckpointForm(kind="v2")
JSON = CheckpointForm(kind="v2", top_level="json", actions_per_sidecar=4)
PARQUET = CheckpointForm(kind="v2", top_level="parquet", actions_per_sidecar=4)
FORMS = [CLASSIC, INLINE, JSON, PARQUET]
FORM_IDS = ["classic", "v2-inline", "v2-json", "v2-parquet"]
_FILES = ("path", "size", "modification_time", "partition_values", "deletion_vector", "base_row_id")


def build_log(root: Path, protocol: Action = FEATURE_PROTOCOL, **fields: Any) -> LogFolder:
    """Three versions with everything that a checkpoint has to tell apart."""
    log = LogFolder(root)
    domain = {"domain": "d", "configuration": "{}", "removed": False}
    gone = {"domain": "e", "configuration": "{}", "removed": True}
    txn = {"txn": {"appId": "a", "version": 3, "lastUpdated": 17}}
    log.commit(0, [protocol, metadata(**fields), *(add(f"{at}.parquet") for at in range(6))])
    log.commit(1, [{"commitInfo": {}}, {"domainMetadata": domain}, {"domainMetadata": gone}, txn])
    new = add("ä b.parquet", deletionVector=vector(), baseRowId=7, tags={"k": None, "l": "m"})
    log.commit(2, [remove("0.parquet"), remove("old", deletionTimestamp=1), new, {"cdc": {}}])
    return log


def write(log: LogFolder, form: CheckpointForm | None = None, **more: Any) -> WrittenCheckpoint:
    """Write a checkpoint of the newest version, or of `version`."""
    store = more.pop("store", LocalStore(str(log.root)))
    snapshot = explorer.open_table(log.root).snapshot(version=more.pop("version", None))
    return snapshot.consult(
        lambda loaded: write_checkpoint(store, loaded, now=NOW, form=form, **more)
    )


def shown(snapshot: Snapshot) -> tuple[object, ...]:
    """What a snapshot holds, in an order of its own."""
    return (
        sorted(snapshot.files(_FILES).to_pylist(), key=str),
        sorted(snapshot.tombstones(["path", "deletion_timestamp"]).to_pylist(), key=str),
        snapshot.protocol,
        snapshot.metadata,
        snapshot.transactions,
        snapshot.domains,
    )


def left(log: LogFolder) -> list[str]:
    """The names of all files in a log."""
    return sorted(file.name for file in log.log.rglob("*") if file.is_file())
