"""Checkpoints of every kind, as other writers may make them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.errors import UnusableCheckpointError
from explorer.log.checkpoint.parquet_part import ROWS_AT_ONCE
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.folder.listing import list_log
from explorer.storage.open import open_read_store
from tests.tables import (
    CHECKPOINT_FORMS,
    COLUMNS,
    FEATURE_PROTOCOL,
    PROTOCOL,
    Action,
    CheckpointForm,
    LogFolder,
    add,
    metadata,
    remove,
    vector,
    write_parquet,
)

_STATE: list[Action] = [
    FEATURE_PROTOCOL,
    metadata(configuration={"k": "v"}, partitionColumns=["part"]),
    {"txn": {"appId": "app", "version": 7, "lastUpdated": 3}},
    {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    add("a", partitionValues={"part": None}, tags={"t": "ä"}, stats='{"numRecords":3}'),
    add("b%20c", deletionVector=vector(offset=1), baseRowId=5, defaultRowCommitVersion=2),
    add("/abs/d"),
    remove("e", deletionVector=vector(), size=9),
]


def _only_checkpoint(root: Path, **axes: Any) -> LogFolder:
    log = LogFolder(root)
    log.checkpoint(4, _STATE, **axes)
    return log


@pytest.mark.rule("checkpoint-classic-v1-or-v2", "checkpoint-classic-v2-content")
@pytest.mark.rule("checkpoint-combination-v1", "checkpoint-combination-v2", "checkpoint-directory")
@pytest.mark.rule("checkpoint-multipart-is-v1", "checkpoint-multipart-parquet")
@pytest.mark.rule("checkpoint-row-per-action", "checkpoint-schema-add")
@pytest.mark.rule("checkpoint-schema-metadata", "checkpoint-schema-protocol")
@pytest.mark.rule("checkpoint-schema-remove", "checkpoint-schema-sidecar", "checkpoint-schema-txn")
@pytest.mark.rule("checkpoint-shortcut", "checkpoint-sidecar-parquet-unique")
@pytest.mark.rule("checkpoint-sidecar-struct-columns", "checkpoint-struct-columns")
@pytest.mark.rule("checkpoint-uuid-json-or-parquet", "checkpoint-v1-flat")
@pytest.mark.rule("checkpoint-v2-json-lines", "checkpoint-v2-nonfile-inside")
@pytest.mark.rule("checkpoint-v2-sidecars-referenced", "file-add-tags")
@pytest.mark.parametrize("rows_per_group", [1, 3, 1000])
@pytest.mark.parametrize("sidecars", [0, 1, 3])
@pytest.mark.parametrize("form", CHECKPOINT_FORMS)
def test_checkpoint_of_any_form_says_the_same(
    form: CheckpointForm, sidecars: int, rows_per_group: int, tmp_path: Path
) -> None:
    log = _only_checkpoint(
        tmp_path / "t", form=form, sidecars=sidecars, rows_per_group=rows_per_group
    )
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.version == 4
    assert snapshot.timestamp is None
    assert snapshot.metadata.configuration == {"k": "v"}
    assert snapshot.protocol.reader_features == ("deletionVectors", "v2Checkpoint")
    assert snapshot.transactions["app"].version == 7
    assert set(snapshot.domains) == {"d"}
    rows = {row["path"]: row for row in snapshot.files(None).to_pylist()}
    assert set(rows) == {"a", "b%20c", "/abs/d"}
    assert rows["a"]["partition_values"] == [("part", None)]
    assert rows["b%20c"]["deletion_vector"]["offset"] == 1
    assert rows["b%20c"]["base_row_id"] == 5
    extra = snapshot.files(["path", "tags", "stats", "num_records"]).to_pylist()
    assert {
        "path": "a",
        "tags": [("t", "ä")],
        "stats": '{"numRecords":3}',
        "num_records": 3,
    } in extra
    (tombstone,) = snapshot.tombstones().to_pylist()
    assert (tombstone["path"], tombstone["size"]) == ("e", 9)
    kind = {"classic": "classic", "multi-part": "multi-part", "v2-classic-name": "classic"}
    assert snapshot.segment.checkpoint is not None
    assert snapshot.segment.checkpoint.kind == kind.get(form, "v2")


@pytest.mark.rule("checkpoint-multipart-name")
def test_many_parts_are_one_checkpoint(tmp_path: Path) -> None:
    log = _only_checkpoint(tmp_path / "t", form="multi-part", parts=len(_STATE))
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 3
    assert snapshot.segment.checkpoint is not None
    assert snapshot.segment.checkpoint.parts == len(_STATE)


def _with_sidecar_path(root: Path, rename: Any) -> LogFolder:
    """A V2 checkpoint whose only sidecar is named as `rename` of its file makes it."""
    log = LogFolder(root)
    (top,) = log.checkpoint(0, _STATE, form="v2-json", sidecars=1)
    (place,) = (log.log / "_sidecars").iterdir()
    odd = place.rename(place.with_name("with space é.parquet"))
    lines = [json.loads(line) for line in top.read_text().splitlines()]
    for line in lines:
        if "sidecar" in line:
            line["sidecar"]["path"] = rename(odd)
    top.write_text("\n".join(map(json.dumps, lines)))
    return log


@pytest.mark.rule("checkpoint-sidecar-action-name-only", "checkpoint-sidecar-action-path")
@pytest.mark.rule("checkpoint-sidecar-name")
@pytest.mark.parametrize(
    "rename",
    [
        lambda _: "with%20space%20%C3%A9.parquet",
        lambda _: "with space é.parquet",
        Path.as_uri,
        str,
    ],
    ids=["encoded name", "plain name", "file URL", "absolute path"],
)
def test_sidecar_is_found_by_name_or_by_absolute_path(rename: Any, tmp_path: Path) -> None:
    log = _with_sidecar_path(tmp_path / "t", rename)
    assert explorer.open_table(log.root).snapshot().num_files == 3


@pytest.mark.rule("checkpoint-metadata-only-v2", "checkpoint-sidecar-action-only-v2")
@pytest.mark.rule("recon-v2-actions-not-in-commits")
def test_sidecars_in_commits_mean_nothing(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a")])
    sidecar = {"sidecar": {"path": "nothing.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    log.commit(1, [sidecar, add("b"), {"checkpointMetadata": {"version": 1}}])
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 2
    assert not snapshot.problems


@pytest.mark.slow
@pytest.mark.rule("action-txn-no-monotonicity", "checkpoint-schema-remove-vectors")
@pytest.mark.rule("older-004-recon-add-after-remove", "older-004-recon-latest-add")
@pytest.mark.rule("older-004-recon-remove-after-add", "older-004-recon-txn-map")
@pytest.mark.rule("older-004-recon-unique-paths", "recon-disjoint", "recon-domain-tombstone")
@pytest.mark.rule("recon-latest-domain", "recon-latest-txn", "recon-newest-reference")
@pytest.mark.rule("recon-remove-needs-its-vector")
def test_newest_commit_decides_over_inline_rows_sidecars_and_groups(tmp_path: Path) -> None:
    for form in CHECKPOINT_FORMS:
        for sidecars in (0, 2):
            log = LogFolder(tmp_path / f"{form}-{sidecars}")
            log.checkpoint(4, _STATE, form=form, sidecars=sidecars, rows_per_group=2)
            log.commit(
                5,
                [
                    remove("a"),
                    remove("b%20c"),  # without its vector: cancels nothing
                    remove("file:///abs/d"),
                    add("e", deletionVector=vector()),  # the tombstone lives again
                    {"txn": {"appId": "app", "version": 2}},  # the last counts, not the greatest
                    {"domainMetadata": {"domain": "d", "configuration": "", "removed": True}},
                ],
            )
            snapshot = explorer.open_table(log.root).snapshot()
            assert set(snapshot.files(["path"])["path"].to_pylist()) == {"b%20c", "e"}
            assert set(snapshot.tombstones(["path"])["path"].to_pylist()) == {
                "a",
                "b%20c",
                "file:///abs/d",
            }
            assert snapshot.transactions["app"].version == 2
            assert not snapshot.domains


_LEAN = {
    "protocol": COLUMNS["protocol"],
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
        ]
    ),
    "add": pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", pa.map_(pa.string(), pa.string())),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
        ]
    ),
}


@pytest.mark.rule("checkpoint-missing-column-null", "older-001-checkpoint-schema-no-sidecar")
@pytest.mark.rule("older-003-metadata-fields", "older-004-checkpoint-schema")
def test_columns_that_a_writer_left_out_are_null(tmp_path: Path) -> None:
    # as old writers do: no remove, no txn, no deletion vectors, no statistics
    log = LogFolder(tmp_path / "t")
    rows = [PROTOCOL, metadata(), add("a"), add("b")]
    write_parquet(log.log / f"{2:020}.checkpoint.parquet", rows, columns=_LEAN)
    log.commit(3, [remove("a")])
    snapshot = explorer.open_table(log.root).snapshot()
    assert not snapshot.problems
    names = ["path", "stats", "num_records", "tags", "deletion_vector", "base_row_id"]
    (row,) = snapshot.files(names).to_pylist()
    assert row == dict.fromkeys(names) | {"path": "b"}
    assert snapshot.num_rows is None
    assert snapshot.num_tombstones == 1
    assert snapshot.metadata.configuration == {}


@pytest.mark.rule("action-protocol-ignore-unknown")
def test_columns_that_nobody_knows_are_left_alone(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    wide = {
        **COLUMNS,
        "future": pa.struct([("x", pa.list_(pa.int64()))]),
        "add": pa.struct([*COLUMNS["add"], pa.field("future", pa.binary())]),
    }
    write_parquet(log.log / f"{2:020}.checkpoint.parquet", _STATE, columns=wide)
    assert explorer.open_table(log.root).snapshot().num_files == 3


@pytest.mark.parametrize(
    "text", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_texts_of_any_layout_are_texts(text: pa.DataType, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    fields = [
        pa.field(field.name, text if pa.types.is_string(field.type) else field.type)
        for field in COLUMNS["add"]
    ]
    write_parquet(
        log.log / f"{2:020}.checkpoint.parquet",
        _STATE,
        columns={**COLUMNS, "add": pa.struct(fields)},
    )
    snapshot = explorer.open_table(log.root).snapshot()
    assert set(snapshot.files(["path"])["path"].to_pylist()) == {"a", "b%20c", "/abs/d"}
    assert snapshot.files().schema.field("path").type == pa.string()


@pytest.mark.parametrize("number", [pa.int32(), pa.int16(), pa.uint8()], ids=str)
def test_narrow_numbers_are_numbers(number: pa.DataType, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    fields = [
        pa.field(field.name, number if field.name == "size" else field.type)
        for field in COLUMNS["add"]
    ]
    columns = {**COLUMNS, "add": pa.struct(fields)}
    write_parquet(log.log / f"{2:020}.checkpoint.parquet", _STATE, columns=columns)
    assert explorer.open_table(log.root).snapshot().size_in_bytes == 300


@pytest.mark.rule("checkpoint-schema-features-null")
def test_empty_feature_lists_below_their_versions_count_as_absent(tmp_path: Path) -> None:
    body = {
        "minReaderVersion": 1,
        "minWriterVersion": 2,
        "readerFeatures": [],
        "writerFeatures": [],
    }
    log = LogFolder(tmp_path / "t")
    log.checkpoint(0, [{"protocol": body}, metadata(), add("a")])
    protocol = explorer.open_table(log.root).snapshot().protocol
    assert (protocol.reader_features, protocol.writer_features) == (None, None)


def _read(log: LogFolder) -> object:
    store = open_read_store(log.root)
    (files,) = list_log(store).checkpoints
    return read_checkpoint(store, files)


@pytest.mark.rule("checkpoint-combination-v1", "checkpoint-metadata-version")
@pytest.mark.rule("checkpoint-schema-checkpointmetadata", "checkpoint-uuid-is-v2")
@pytest.mark.rule("checkpoint-v2-one-checkpointmetadata")
def test_v2_checkpoint_must_speak_of_its_own_version(tmp_path: Path) -> None:
    for number, described in enumerate(
        ([], [{"version": 9}], [{"version": 4}, {"version": 4}], [{}], [{"version": "4"}])
    ):
        log = LogFolder(tmp_path / str(number))
        lines = [*({"checkpointMetadata": body} for body in described), *_STATE]
        name = f"{4:020}.checkpoint.{uuid.uuid4()}.json"
        log.write(name, "\n".join(map(json.dumps, lines)))
        with pytest.raises(UnusableCheckpointError) as caught:
            _read(log)
        assert caught.value.kind == "checkpoint_unusable"
        assert name in caught.value.problem


@pytest.mark.rule("checkpoint-sidecar-action-path")
@pytest.mark.parametrize("path", [None, "", 5, [], "%ff"], ids=repr)
def test_sidecar_without_a_usable_path_is_refused(path: object, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    lines = [
        {"checkpointMetadata": {"version": 4}},
        *_STATE[:2],
        {"sidecar": {"path": path, "sizeInBytes": 5, "modificationTime": 5}},
    ]
    name = f"{4:020}.checkpoint.{uuid.uuid4()}.json"
    log.write(name, "\n".join(map(json.dumps, lines)))
    with pytest.raises(UnusableCheckpointError):
        _read(log)


@pytest.mark.parametrize("sidecar", [5, "x", [], True, {}], ids=repr)
def test_sidecar_that_is_no_action_is_refused(sidecar: object, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    lines = [{"checkpointMetadata": {"version": 4}}, *_STATE, {"sidecar": sidecar}]
    name = f"{4:020}.checkpoint.{uuid.uuid4()}.json"
    log.write(name, "\n".join(map(json.dumps, lines)))
    with pytest.raises(UnusableCheckpointError):
        _read(log)


@pytest.mark.rule("checkpoint-v2-all-or-none")
def test_files_in_the_top_level_and_in_sidecars_are_all_taken_with_a_problem(
    tmp_path: Path,
) -> None:
    log = LogFolder(tmp_path / "t")
    (top,) = log.checkpoint(4, _STATE, form="v2-json", sidecars=2)
    with top.open("a") as file:
        file.write(json.dumps(add("inline")) + "\n")
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 4
    assert [problem.place for problem in snapshot.problems] == [top.name]


@pytest.mark.parametrize("missing", ["storageType", "pathOrInlineDv"])
def test_vector_without_an_identity_is_not_taken_for_none(missing: str, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a", deletionVector=vector())])
    broken = vector()
    del broken[missing]
    state = [FEATURE_PROTOCOL, metadata(), add("a", deletionVector=broken)]
    log.checkpoint(0, state)
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_deletion_vectors == 1
    assert snapshot.files()["deletion_vector"][0]["storage_type"].as_py() == "u"
    (problem,) = snapshot.problems
    assert (problem.kind, problem.place) == (
        "checkpoint_unusable",
        f"{0:020}.checkpoint.parquet",
    )


@pytest.mark.parametrize("rows_per_group", [1, 2, 100])
def test_vectors_are_read_where_only_some_row_groups_have_them(
    rows_per_group: int, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    files = [add(str(at), **({"deletionVector": vector()} if at == 3 else {})) for at in range(6)]
    state = [FEATURE_PROTOCOL, metadata(), *files]
    log.checkpoint(0, state, rows_per_group=rows_per_group)
    rows = explorer.open_table(log.root).snapshot().files(["path", "deletion_vector"])
    rows.validate(full=True)
    found = {row["path"]: row["deletion_vector"] for row in rows.to_pylist()}
    assert [path for path, held in found.items() if held is not None] == ["3"]
    assert found["3"]["cardinality"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "places",
    [[0, 1], [5, 6], [0, 19_998], [9_000, 19_999], [ROWS_AT_ONCE - 1, ROWS_AT_ONCE]],
)
def test_few_actions_are_found_wherever_they_stand_in_a_row_group(
    places: list[int], tmp_path: Path
) -> None:
    actions: list[Action] = [add(f"f{number}") for number in range(19_997)]
    first, second = places
    actions.insert(first, PROTOCOL)
    actions.insert(second, metadata(name="deep"))
    for at in (3, 8_000, 17_000):
        actions.insert(at, {"txn": {"appId": f"app{at}", "version": at}})
    log = LogFolder(tmp_path / "t")
    log.checkpoint(4, actions)
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.metadata.name == "deep"
    assert {name: found.version for name, found in snapshot.transactions.items()} == {
        "app3": 3,
        "app8000": 8_000,
        "app17000": 17_000,
    }
    assert snapshot.num_files == 19_997
