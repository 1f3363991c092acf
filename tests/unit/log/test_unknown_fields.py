"""Fields and actions that nobody here knows: no obstacle, and not lost when written again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import UnsupportedError
from explorer.log.checkpoint_writer import CheckpointContent, write_classic_checkpoint
from explorer.protocol.commit_json import render_action
from explorer.storage.open import open_write_store
from explorer.table.snapshot import Snapshot
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata

_NEW: dict[str, Any] = {
    "text": "é",
    "number": 2**40,
    "yes": True,
    "list": ["a", "b"],
    "object": {"a": {"b": [1, 2]}, "options": {"k": "v"}},
}


def _table(root: Path, new: Any = _NEW) -> LogFolder:
    log = LogFolder(root)
    domain = {"domain": "d", "configuration": "{}", "removed": False}
    protocol = {"protocol": {**FEATURE_PROTOCOL["protocol"], "new": new}}
    log.commit(0, [protocol, metadata(new=new, description="x"), add("a", new=new)])
    log.commit(1, [{"txn": {"appId": "s", "version": 1, "new": new}}, {"newThing": {"new": new}}])
    log.commit(
        2, [{"domainMetadata": {**domain, "new": new}}, {"txn": {"appId": "t", "version": 1}}]
    )
    return log


def _content(snapshot: Snapshot) -> CheckpointContent:
    return CheckpointContent(
        version=snapshot.version,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        transactions=tuple(snapshot.transactions.values()),
        domains=tuple(snapshot.domains.values()),
        adds=snapshot.physical_files("add", ["path", "size"]).to_batches(),
        tombstones_after=0,
    )


def _unknown(snapshot: Snapshot) -> list[Any]:
    actions = [snapshot.protocol, snapshot.metadata, snapshot.domains["d"]]
    return [action.unknown_fields for action in (*actions, snapshot.transactions["s"])]


@pytest.mark.rule("action-protocol-ignore-unknown")
def test_unknown_fields_are_kept_and_rendered_again(tmp_path: Path) -> None:
    snapshot = explorer.open_table(_table(tmp_path / "t").root).snapshot()
    assert snapshot.problems == ()
    assert snapshot.num_files == 1
    assert _unknown(snapshot) == [{"new": _NEW}] * 4
    assert snapshot.transactions["t"].unknown_fields == {}
    for action in (snapshot.protocol, snapshot.metadata, snapshot.domains["d"]):
        ((_, body),) = render_action(action).items()
        assert body["new"] == _NEW


@pytest.mark.rule("action-protocol-ignore-unknown")
def test_unknown_fields_survive_a_checkpoint(tmp_path: Path) -> None:
    log = _table(tmp_path / "t")
    before = explorer.open_table(log.root).snapshot()
    write_classic_checkpoint(open_write_store(log.root), _content(before))
    after = explorer.open_table(log.root).snapshot()
    assert after.segment.checkpoint is not None
    assert len(after.segment.commits) == 0
    assert _unknown(after) == _unknown(before)
    assert (after.protocol, after.metadata) == (before.protocol, before.metadata)
    assert after.transactions == before.transactions
    assert after.domains == before.domains


@pytest.mark.parametrize("new", [{}, [1, "a"]], ids=repr)
def test_unknown_field_that_no_column_can_hold_is_not_dropped_silently(
    new: Any, tmp_path: Path
) -> None:
    log = _table(tmp_path / "t", new)
    snapshot = explorer.open_table(log.root).snapshot()
    with pytest.raises(UnsupportedError) as caught:
        write_classic_checkpoint(open_write_store(log.root), _content(snapshot))
    assert "'new'" in caught.value.reason
    assert not list(log.log.glob("*.checkpoint.parquet"))


@pytest.mark.rule("action-protocol-ignore-unknown")
def test_unknown_field_nested_without_end_is_no_obstacle(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    deep = "[" * 900 + "]" * 900
    lines = [json.dumps(FEATURE_PROTOCOL), json.dumps(metadata(new=1))]
    log.write(f"{0:020}.json", "\n".join(lines).replace('"new": 1', f'"new": {deep}'))
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.metadata.unknown_fields == {}
    assert snapshot.metadata == explorer.open_table(log.root).metadata()
