"""Checkpoints of every form that we write, from a version as it was loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import (
    CancelledError,
    InvalidArgumentError,
    UnsupportedError,
)
from explorer.log.checkpoint_writing.checkpoint_form import (
    ACTIONS_PER_SIDECAR,
    CLASSIC,
    FEW_ACTIONS,
    CheckpointForm,
    choose_form,
)
from explorer.progress import Cancel, Progress, Watch
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.last_checkpoint import parse_last_checkpoint
from tests.tables import (
    PROTOCOL,
    LogFolder,
    add,
    metadata,
    remove,
)
from tests.unit.log.checkpoint_cases import (
    FORM_IDS,
    FORMS,
    INLINE,
    JSON,
    NOW,
    PARQUET,
    build_log,
    left,
    shown,
    write,
)


def _rows(file: Path) -> list[dict[str, Any]]:
    """Each action of a checkpoint file, as a line of a commit."""
    if file.suffix == ".json":
        return [json.loads(line) for line in file.read_bytes().splitlines()]
    rows = pq.ParquetFile(file).read().to_pylist()
    return [{kind: body for kind, body in row.items() if body is not None} for row in rows]


def _kinds(file: Path) -> list[str]:
    return [kind for row in _rows(file) for kind in row]


@pytest.mark.rule("checkpoint-complete-replay", "checkpoint-v2-sidecars-referenced")
@pytest.mark.rule("checkpoint-uuid-json-or-parquet", "checkpoint-required-actions")
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_version_is_the_same_from_its_checkpoint_alone(
    form: CheckpointForm, tmp_path: Path
) -> None:
    log = build_log(tmp_path / "t")
    before = shown(explorer.open_table(log.root).snapshot())
    written = write(log, form)
    for version in range(3):
        if version < 2:
            (log.log / f"{version:020}.json").unlink()
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.segment.checkpoint is not None
    assert len(snapshot.segment.commits) == 0
    assert snapshot.problems == ()
    found = shown(snapshot)
    tombstones = [row for row in before[1] if row["path"] != "old"]  # type: ignore[attr-defined]
    assert found == (before[0], tombstones, *before[2:])
    assert written.is_hinted


@pytest.mark.rule("checkpoint-uuid-name", "checkpoint-sidecar-name", "checkpoint-uuid-is-v2")
@pytest.mark.rule("checkpoint-sidecar-parquet-unique", "checkpoint-metadata-only-v2")
@pytest.mark.rule("checkpoint-sidecar-action-only-v2", "checkpoint-v1-flat")
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_names_and_actions_are_those_of_the_form(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    uuids = [UUID(int=number) for number in range(1, 9)]
    written = write(log, form, new_uuid=iter(uuids).__next__)
    top, *sidecars = (log.root / file.path for file in written.files)
    if form is CLASSIC:
        assert top.name == f"{2:020}.checkpoint.parquet"
        assert {"checkpointMetadata", "sidecar"}.isdisjoint(_kinds(top))
        return
    unique = uuids[len(sidecars)]
    assert top.name == f"{2:020}.checkpoint.{unique}.{form.top_level}"
    assert [file.name for file in sidecars] == [
        f"{uuid}.parquet" for uuid in uuids[: len(sidecars)]
    ]
    assert {file.parent.name for file in sidecars} <= {"_sidecars"}
    assert _kinds(top).count("checkpointMetadata") == 1
    assert len(sidecars) == (0 if form is INLINE else 2)


@pytest.mark.rule("checkpoint-v2-one-checkpointmetadata", "checkpoint-v2-nonfile-inside")
@pytest.mark.rule("checkpoint-v2-all-or-none", "checkpoint-sidecar-only-add-remove")
@pytest.mark.rule("checkpoint-sidecar-struct-columns", "checkpoint-metadata-version")
@pytest.mark.rule("checkpoint-sidecar-action-path", "checkpoint-sidecar-action-name-only")
@pytest.mark.rule("checkpoint-sidecar-action-size", "checkpoint-sidecar-action-modificationtime")
@pytest.mark.rule("checkpoint-no-commitinfo-no-cdc", "checkpoint-schema-sidecar")
@pytest.mark.rule("checkpoint-schema-checkpointmetadata")
@pytest.mark.parametrize("form", [JSON, PARQUET], ids=["json", "parquet"])
def test_files_are_in_sidecars_and_everything_else_is_not(
    form: CheckpointForm, tmp_path: Path
) -> None:
    log = build_log(tmp_path / "t")
    written = write(log, form)
    top, *sidecars = (log.root / file.path for file in written.files)
    small = ["checkpointMetadata", "domainMetadata", "metaData", "protocol", "txn"]
    assert sorted(_kinds(top)) == sorted([*small, "sidecar", "sidecar"])
    bodies = {kind: body for row in _rows(top) for kind, body in row.items()}
    assert bodies["checkpointMetadata"]["version"] == 2
    for file in sidecars:
        assert set(_kinds(file)) <= {"add", "remove"}
        assert set(pq.read_schema(file).names) == {"add", "remove"}
        assert len(_kinds(file)) <= 4
    assert sum(len(_kinds(file)) for file in sidecars) == 7
    named = {row["sidecar"]["path"]: row["sidecar"] for row in _rows(top) if "sidecar" in row}
    for file in sidecars:
        found = file.stat()
        assert named[file.name]["sizeInBytes"] == found.st_size
        assert named[file.name]["modificationTime"] == found.st_mtime_ns // 1_000_000


@pytest.mark.rule("checkpoint-v2-embed-in-pointer", "pointer-size", "pointer-sizeinbytes")
@pytest.mark.rule("pointer-numofaddfiles", "pointer-checksum-write")
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_hint_says_what_was_written(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    written = write(log, form)
    hint = parse_last_checkpoint((log.log / "_last_checkpoint").read_bytes())
    files = [log.root / file.path for file in written.files]
    assert hint.checksum is not None
    assert hint.version == 2
    assert hint.num_of_add_files == 6
    assert hint.size == sum(len(_rows(file)) for file in files)
    assert hint.size_in_bytes == sum(file.stat().st_size for file in files)
    if form is CLASSIC:
        assert hint.embedded is None
        return
    assert hint.embedded is not None
    assert hint.embedded.path == files[0].name
    assert hint.embedded.size_in_bytes == files[0].stat().st_size
    inside = [row for row in _rows(files[0]) if not {"add", "remove", "sidecar"} & set(row)]
    assert hint.embedded.non_file_actions is not None
    assert [set(row) for row in hint.embedded.non_file_actions] == [set(row) for row in inside]
    assert [body["path"] for body in hint.embedded.sidecar_files or ()] == [
        file.name for file in files[1:]
    ]


@pytest.mark.rule("pointer-checkpoint-schema")
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_hint_has_the_schema_of_a_parquet_file(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    written = write(log, form)
    told = written.last.checkpoint_schema
    if form is JSON:
        assert told is None
        return
    assert told is not None
    columns = {field["name"]: field["type"] for field in told["fields"]}
    stored = pq.read_schema(log.root / written.files[0].path)
    assert list(columns) == stored.names
    assert [field["name"] for field in columns["add"]["fields"]] == [
        field.name for field in stored.field("add").type
    ]


@pytest.mark.slow
def test_schema_that_is_long_is_not_in_the_hint(tmp_path: Path) -> None:
    fields = ",".join(
        f'{{"name":"column-{at}","type":"long","nullable":true,"metadata":{{}}}}'
        for at in range(400)
    )
    schema = f'{{"type":"struct","fields":[{fields}]}}'
    wanted = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.dataSkippingNumIndexedCols": "-1",
    }
    log = build_log(tmp_path / "t", schemaString=schema, configuration=wanted)
    assert write(log, CLASSIC).last.checkpoint_schema is None


@pytest.mark.slow
def test_hint_leaves_out_what_is_long(tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    log.commit(3, [{"txn": {"appId": str(at), "version": at}} for at in range(40)])
    log.commit(4, [add(f"more-{at}") for at in range(130)])
    embedded = write(log, JSON).last.embedded
    assert embedded is not None
    assert embedded.non_file_actions is None
    assert embedded.sidecar_files is None


@pytest.mark.rule("checkpoint-contains-unexpired-tombstones", "older-003-tombstone-expiry-log-time")
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_expired_tombstones_are_left_out(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    written = write(log, form)
    gone = [
        row["remove"]["path"]
        for file in written.files
        for row in _rows(log.root / file.path)
        if "remove" in row
    ]
    assert gone == ["0.parquet"]


def test_expired_transactions_are_left_out(tmp_path: Path) -> None:
    week = {"delta.setTransactionRetentionDuration": "interval 7 days"}
    log = build_log(tmp_path / "t", configuration=week)
    new = NOW.timestamp() * 1000 - 1
    log.commit(3, [{"txn": {"appId": "new", "version": 1, "lastUpdated": int(new)}}])
    log.commit(4, [{"txn": {"appId": "timeless", "version": 1}}])
    write(log)
    snapshot = explorer.open_table(log.root).snapshot()
    assert set(snapshot.transactions) == {"new", "timeless"}


@pytest.mark.rule("checkpoint-v2-feature-when-supported", "checkpoint-multipart-deprecated")
@pytest.mark.rule("checkpoint-v2-feature-protocol")
@pytest.mark.parametrize(
    ("features", "policy", "num_actions", "expected"),
    [
        (("v2Checkpoint",), "v2", 5, INLINE),
        (("v2Checkpoint",), "v2", FEW_ACTIONS + 1, "sidecars"),
        (("v2Checkpoint",), "classic", ACTIONS_PER_SIDECAR + 1, CLASSIC),
        (("v2Checkpoint",), None, ACTIONS_PER_SIDECAR, CLASSIC),
        (("v2Checkpoint",), None, ACTIONS_PER_SIDECAR + 1, "sidecars"),
        ((), "v2", ACTIONS_PER_SIDECAR + 1, CLASSIC),
        ((), None, ACTIONS_PER_SIDECAR + 1, CLASSIC),
    ],
    ids=["few", "many", "policy classic", "not large", "large", "not supported", "neither"],
)
def test_form_follows_feature_policy_and_size(
    features: tuple[str, ...], policy: str | None, num_actions: int, expected: object
) -> None:
    protocol = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=features,
        writer_features=features,
    )
    conf = {} if policy is None else {"delta.checkpointPolicy": policy}
    form = choose_form(protocol, Metadata(id="i", configuration=conf), num_actions)
    if expected == "sidecars":
        assert form.top_level == "json"
        assert form.actions_per_sidecar is not None
    else:
        assert form == expected


@pytest.mark.rule("checkpoint-v2-only-when-enabled", "checkpoint-uuid-only-with-feature")
@pytest.mark.parametrize("form", FORMS[1:], ids=FORM_IDS[1:])
def test_v2_checkpoint_needs_the_feature(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t", PROTOCOL)
    with pytest.raises(UnsupportedError, match="v2Checkpoint"):
        write(log, form)
    assert len(list(log.log.iterdir())) == 3


@pytest.mark.rule("checkpoint-after-delta-file")
def test_version_whose_commit_is_gone_is_not_checkpointed(tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    write(log, INLINE)
    (log.log / f"{2:020}.json").unlink()
    with pytest.raises(InvalidArgumentError, match="no such commit"):
        write(log, CLASSIC)


def test_checkpoint_that_is_read_is_not_written_over(tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    first = (log.root / write(log, CLASSIC).files[0].path).read_bytes()
    with pytest.raises(InvalidArgumentError, match="already"):
        write(log, CLASSIC)
    assert (log.log / f"{2:020}.checkpoint.parquet").read_bytes() == first


def test_broken_checkpoint_is_written_over(tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    log.write(f"{2:020}.checkpoint.parquet", b"PAR1 torn")
    write(log, CLASSIC)
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.problems == ()
    assert snapshot.num_files == 6


def test_older_version_is_checkpointed_below_a_newer_hint(tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    write(log, INLINE)
    written = write(log, INLINE, version=1)
    assert not written.is_hinted
    assert parse_last_checkpoint((log.log / "_last_checkpoint").read_bytes()).version == 2
    assert explorer.open_table(log.root).snapshot(version=1).num_files == 6


def test_checkpoint_follows_a_checkpoint(tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    before = explorer.open_table(log.root).snapshot()
    for at, form in enumerate(FORMS, start=3):
        log.commit(at, [add(f"more-{at}")])
        write(log, form)
        snapshot = explorer.open_table(log.root).snapshot()
        assert snapshot.num_files == before.num_files + at - 2
        assert len(snapshot.segment.commits) == 0


@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_cancelled_checkpoint_leaves_nothing(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    cancel = Cancel()
    seen: list[Progress] = []

    def stop(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 2:
            cancel.cancel()

    with pytest.raises(CancelledError):
        write(log, form, watch=Watch(progress=stop, cancel=cancel))
    assert left(log) == [f"{version:020}.json" for version in range(3)]


@pytest.mark.slow
def test_large_checkpoint_has_row_groups_of_one_kind(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    for version in range(1, 13):
        first = version * 10_000
        actions = [add(str(at), stats='{"numRecords":1}') for at in range(first, first + 10_000)]
        log.commit(version, [*actions, remove(f"gone-{version}")])
    written = write(log)
    stored = pq.ParquetFile(log.root / written.files[0].path)
    counts = [stored.metadata.row_group(at).num_rows for at in range(stored.num_row_groups)]
    assert counts == [2, 100_000, 20_000, 12]
    paths = explorer.open_table(log.root).snapshot().files(["path"]).column("path")
    assert paths.equals(pa.chunked_array([[str(at) for at in range(10_000, 130_000)]]))
