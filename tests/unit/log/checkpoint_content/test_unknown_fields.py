"""Fields and actions that nobody here knows: no obstacle, and not lost when written again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import UnsupportedError
from explorer.log.checkpoint_content.content import CheckpointContent
from explorer.log.checkpoint_writing.checkpoint_form import CLASSIC, CheckpointForm
from explorer.log.checkpoint_writing.checkpoint_writer import (
    write_checkpoint,
    write_classic_checkpoint,
)
from explorer.protocol.commit_json import render_action
from explorer.storage.open import open_write_store
from explorer.table.snapshot import Snapshot
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove, vector

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


_FORMS = [
    CLASSIC,
    CheckpointForm(kind="v2"),
    CheckpointForm(kind="v2", top_level="json", actions_per_sidecar=2),
]
_FORM_IDS = ["classic", "v2", "v2-json"]
_OLD = datetime(1, 2, 1, tzinfo=UTC)  # no tombstone is expired


def _checkpoint(log: LogFolder, form: CheckpointForm = CLASSIC) -> dict[str, dict[str, Any]]:
    """Write one; the unknown fields in it by kind and path."""
    snapshot = explorer.open_table(log.root).snapshot()
    store = open_write_store(log.root)
    written = snapshot.consult(lambda loaded: write_checkpoint(store, loaded, now=_OLD, form=form))
    found: dict[str, dict[str, Any]] = {"add": {}, "remove": {}}
    for file in written.files:
        if file.path.endswith(".json"):
            continue
        for row in pq.ParquetFile(log.root / file.path).read().to_pylist():
            for kind, paths in found.items():
                if row[kind] is not None:
                    names = [name for name in row[kind] if name.startswith("new")]
                    paths[row[kind]["path"]] = {name: row[kind][name] for name in names}
    return found


@pytest.mark.rule("checkpoint-required-actions", "action-protocol-ignore-unknown")
@pytest.mark.parametrize("form", _FORMS, ids=_FORM_IDS)
def test_unknown_fields_of_files_survive_checkpoints(form: CheckpointForm, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a", new=_NEW), add("b"), add("c", new=None)])
    log.commit(1, [add("d", deletionVector=vector(), new=_NEW, new2=7), remove("e", new=_NEW)])
    log.commit(2, [add("a", new={"text": "newer"}), remove("b", newer="x")])
    first = _checkpoint(log, form)
    empty = dict.fromkeys(_NEW)
    assert first["add"]["a"] == {"new": {**empty, "text": "newer"}, "new2": None}
    assert first["add"]["d"] == {"new": _NEW, "new2": 7}
    assert first["add"]["c"] == {"new": None, "new2": None}
    assert first["remove"]["e"] == {"new": _NEW, "newer": None}
    assert first["remove"]["b"] == {"new": None, "newer": "x"}
    # from the columns of a checkpoint and the lines of a commit
    log.commit(3, [add("f", new3=[1, 2]), add("c", new={"number": 1}), remove("a")])
    second = _checkpoint(log, form)
    assert second["add"]["d"] == {"new": _NEW, "new2": 7, "new3": None}
    assert second["add"]["f"] == {"new": None, "new2": None, "new3": [1, 2]}
    assert second["add"]["c"]["new"]["number"] == 1
    assert second["remove"]["e"]["new"] == _NEW
    assert "a" not in second["add"]


def test_unknown_fields_are_found_in_large_commits_and_after_a_refresh(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    many = [add(str(at)) for at in range(10_000)]
    log.commit(0, [FEATURE_PROTOCOL, metadata(), *many, add("a", new=1)])
    table = explorer.open_table(log.root)
    assert table.snapshot().num_files == 10_001
    log.commit(1, [add("b")])
    store = open_write_store(log.root)
    table.snapshot().consult(lambda loaded: write_checkpoint(store, loaded, now=_OLD))
    file = log.log / f"{1:020}.checkpoint.parquet"
    rows = pq.ParquetFile(file).read(columns=["add.path", "add.new"]).column("add").to_pylist()
    assert {row["path"]: row["new"] for row in rows if row and row["new"] is not None} == {"a": 1}


def test_columns_that_nothing_fills_are_left_behind(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a", new=1)])
    _checkpoint(log)
    log.commit(1, [remove("a"), add("b")])
    assert _checkpoint(log)["add"] == {"b": {"new": None}}
    log.commit(2, [add("c")])
    assert _checkpoint(log)["add"] == {"b": {}, "c": {}}


@pytest.mark.parametrize("values", [({}, 1), (1, "a"), ({"a": 1}, [1])], ids=repr)
def test_unknown_fields_of_files_that_fit_no_column_are_not_dropped(
    values: tuple[Any, Any], tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    first, second = values
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a", new=first), add("b", new=second)])
    with pytest.raises(UnsupportedError, match="'new'"):
        _checkpoint(log)
    assert len(list(log.log.iterdir())) == 1
