"""The columns of the checkpoints that we write, as any reader of Parquet finds them, and the
names that they never have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.log.checkpoint_writing.checkpoint_form import CLASSIC, CheckpointForm, choose_form
from explorer.log.checkpoint_writing.classic_copy import write_classic_copy
from explorer.log.folder.listing import list_log
from explorer.progress import UNWATCHED
from explorer.protocol.actions import Metadata, Protocol
from explorer.storage.local import LocalStore
from tests.data_tables import field, struct
from tests.tables import FEATURE_PROTOCOL, Action, LogFolder, add, commit_name, metadata, remove
from tests.unit.log.checkpoint_cases import (
    FORM_IDS,
    FORMS,
    INLINE,
    JSON,
    PARQUET,
    build_log,
    left,
    write,
)

_NAMES = {
    pa.string(): "string",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.float64(): "double",
}


def _said(kind: pa.DataType) -> Any:
    """A type in the words of the specification's appendix."""
    if pa.types.is_struct(kind):
        return {item.name: _said(item.type) for item in kind}
    if pa.types.is_map(kind):
        return f"map<{_said(kind.key_type)},{_said(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{_said(kind.value_type)}>"
    return _NAMES[kind]


_BOUNDS = {"asset": "string", "quantity": "double"}
_METADATA = {
    "id": "string",
    "name": "string",
    "description": "string",
    "format": {"provider": "string", "options": "map<string,string>"},
    "schemaString": "string",
    "partitionColumns": "array<string>",
    "createdTime": "long",
    "configuration": "map<string,string>",
}
_PROTOCOL = {
    "minReaderVersion": "int",
    "minWriterVersion": "int",
    "readerFeatures": "array<string>",
    "writerFeatures": "array<string>",
}
_ADD = {
    "path": "string",
    "partitionValues": "map<string,string>",
    "size": "long",
    "modificationTime": "long",
    "dataChange": "boolean",
    "stats": "string",
    "tags": "map<string,string>",
    "baseRowId": "long",
    "defaultRowCommitVersion": "long",
    "partitionValues_parsed": {"date": "date", "region": "string"},
}
_REMOVE = {"path": "string", "deletionTimestamp": "long", "dataChange": "boolean"}
_SIDECAR = {
    "path": "string",
    "sizeInBytes": "long",
    "modificationTime": "long",
    "tags": "map<string,string>",
}

# the bodies of the actions of `_log`, as its commit has them and its checkpoint must
_TABLE = metadata(
    name="sales",
    description="of a year",
    schemaString=json.dumps(
        struct(
            field("date", "date"),
            field("region", "string"),
            field("asset", "string"),
            field("quantity", "double"),
            field("is_available", "boolean"),
        )
    ),
    partitionColumns=["date", "region"],
    configuration={"delta.checkpoint.writeStatsAsStruct": "true", "owner": "me"},
)
_TXN = {"txn": {"appId": "a", "version": 3, "lastUpdated": 17}}
_STATS = {
    "numRecords": 2,
    "minValues": {"asset": "a", "quantity": 0.5},
    "maxValues": {"asset": "z", "quantity": 7.0},
    "nullCount": {"asset": 1, "quantity": 0, "is_available": 0},
}
_FILE = add(
    "date=2024-02-29/a%20b.parquet",
    partitionValues={"date": "2024-02-29", "region": None},
    stats=json.dumps(_STATS),
    tags={"k": "v"},
    baseRowId=7,
    defaultRowCommitVersion=0,
    dataChange=False,
)
_GONE = remove("date=2024-02-28/c%20d.parquet", dataChange=False)
_COMMIT: list[Action] = [FEATURE_PROTOCOL, _TABLE, _TXN, _FILE, _GONE]


def _checkpoint(root: Path, form: CheckpointForm) -> tuple[pa.Table, list[Path]]:
    """The top level of a checkpoint of these actions, and its sidecars."""
    log = LogFolder(root)
    log.commit(0, _COMMIT)
    top, *sidecars = (log.root / file.path for file in write(log, form).files)
    return pq.ParquetFile(top).read(), sidecars


def _bodies(rows: pa.Table, kind: str) -> list[Any]:
    found = rows.column(kind).to_pylist(maps_as_pydicts="strict")
    return [body for body in found if body is not None]


def _without_nulls(body: Any) -> Any:
    return {key: value for key, value in body.items() if value is not None}


@pytest.mark.parametrize(
    ("action", "columns"),
    [
        pytest.param(_TABLE, _METADATA, marks=pytest.mark.rule("checkpoint-schema-metadata")),
        pytest.param(
            FEATURE_PROTOCOL, _PROTOCOL, marks=pytest.mark.rule("checkpoint-schema-protocol")
        ),
        pytest.param(
            _TXN,
            {"appId": "string", "version": "long"},
            marks=pytest.mark.rule("checkpoint-schema-txn"),
        ),
        pytest.param(_FILE, _ADD, marks=pytest.mark.rule("checkpoint-schema-add")),
        pytest.param(_GONE, _REMOVE, marks=pytest.mark.rule("checkpoint-schema-remove")),
    ],
    ids=["metaData", "protocol", "txn", "add", "remove"],
)
@pytest.mark.parametrize("form", [CLASSIC, INLINE], ids=["classic", "v2-inline"])
def test_action_is_a_struct_of_the_appendix_and_keeps_every_value(
    form: CheckpointForm, action: Action, columns: dict[str, Any], tmp_path: Path
) -> None:
    rows, _ = _checkpoint(tmp_path / "t", form)
    ((kind, given),) = action.items()
    said = _said(rows.schema.field(kind).type)
    assert {name: said[name] for name in columns} == columns
    (body,) = _bodies(rows, kind)
    assert {name: body[name] for name in given} == given
    parsed = {"partitionValues_parsed", "stats_parsed"} if kind == "add" else set()
    further = {name: body[name] for name in body if name not in given}
    assert _without_nulls(further).keys() == parsed


@pytest.mark.rule("checkpoint-schema-add", "checkpoint-partitionvalues-parsed-types")
def test_parsed_columns_of_an_add_are_structs_by_the_types_of_the_table(tmp_path: Path) -> None:
    rows, _ = _checkpoint(tmp_path / "t", CLASSIC)
    said = _said(rows.schema.field("add").type)
    assert said["partitionValues_parsed"] == {"date": "date", "region": "string"}
    parsed = said["stats_parsed"]
    assert parsed["numRecords"] == "long"
    for side in ("minValues", "maxValues"):
        assert {name: parsed[side][name] for name in _BOUNDS} == _BOUNDS
    assert {*parsed["nullCount"].values()} == {"long"}


@pytest.mark.rule("checkpoint-schema-checkpointmetadata", "checkpoint-schema-sidecar")
@pytest.mark.rule("checkpoint-metadata-tags", "checkpoint-sidecar-action-tags")
def test_actions_of_v2_checkpoints_are_structs_with_tags(tmp_path: Path) -> None:
    rows, sidecars = _checkpoint(tmp_path / "t", PARQUET)
    told = _said(rows.schema.field("checkpointMetadata").type)
    assert told == {"version": "long", "tags": "map<string,string>"}
    assert _said(rows.schema.field("sidecar").type) == _SIDECAR
    (body,) = _bodies(rows, "checkpointMetadata")
    assert _without_nulls(body) == {"version": 0}
    assert [body["path"] for body in _bodies(rows, "sidecar")] == [file.name for file in sidecars]


@pytest.mark.rule("checkpoint-sidecar-struct-columns", "checkpoint-no-commitinfo-no-cdc")
@pytest.mark.parametrize("form", [JSON, PARQUET], ids=["json", "parquet"])
def test_sidecars_have_adds_and_removes_as_structs(form: CheckpointForm, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [{"commitInfo": {"operation": "WRITE"}}, *_COMMIT, {"cdc": {"path": "c"}}])
    _, *sidecars = (log.root / file.path for file in write(log, form).files)
    for file in sidecars:
        rows = pq.ParquetFile(file).read()
        assert rows.schema.names == ["add", "remove"]
        said = {name: _said(rows.schema.field(name).type) for name in rows.schema.names}
        assert {name: said["add"][name] for name in _ADD} == _ADD
        assert {name: said["remove"][name] for name in _REMOVE} == _REMOVE


@pytest.mark.rule("checkpoint-multipart-name", "checkpoint-multipart-is-v1")
@pytest.mark.rule("checkpoint-multipart-parquet", "checkpoint-multipart-clustered")
@pytest.mark.rule("checkpoint-multipart-key", "checkpoint-multipart-deprecated")
@pytest.mark.rule("checkpoint-multipart-forbidden-with-v2", "checkpoint-combination-v2")
@pytest.mark.rule("older-004-checkpoint-multipart-clustering")
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_no_checkpoint_is_written_in_parts(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t", configuration={"delta.checkpoint.partSize": "1"})
    written = write(log, form)
    listing = list_log(LocalStore(str(log.root)))
    (found,) = listing.checkpoints
    assert (found.kind, len(found.names)) == (form.kind, 1)
    assert listing.incomplete_checkpoints == ()
    assert left(log) == sorted(
        [
            *(commit_name(version) for version in range(3)),
            "_last_checkpoint",
            *(file.path.rpartition("/")[2] for file in written.files),
        ]
    )
    assert written.last.parts is None


@pytest.mark.rule("checkpoint-multipart-deprecated", "checkpoint-multipart-forbidden-with-v2")
@pytest.mark.parametrize("features", [(), ("v2Checkpoint",)], ids=["without V2", "with V2"])
@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_no_size_of_a_table_makes_parts(features: tuple[str, ...], policy: str) -> None:
    protocol = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=features,
        writer_features=features,
    )
    table = Metadata(id="i", configuration={"delta.checkpointPolicy": policy})
    kinds = {choose_form(protocol, table, 10**power).kind for power in range(12)}
    assert kinds == {"v2" if features and policy == "v2" else "classic"}


@pytest.mark.rule("checkpoint-classic-v2-content", "checkpoint-combination-v2")
@pytest.mark.parametrize("form", [INLINE, JSON, PARQUET], ids=FORM_IDS[1:])
def test_v2_checkpoint_under_the_classic_name_says_what_it_is(
    form: CheckpointForm, tmp_path: Path
) -> None:
    log = build_log(tmp_path / "t")
    _, *sidecars = write(log, form).files
    (files,) = list_log(LocalStore(str(log.root))).checkpoints
    write_classic_copy(LocalStore(str(log.root)), files, UNWATCHED)
    rows = pq.ParquetFile(log.log / f"{2:020}.checkpoint.parquet").read()
    assert [body["version"] for body in _bodies(rows, "checkpointMetadata")] == [2]
    named = _bodies(rows, "sidecar") if "sidecar" in rows.schema.names else []
    assert [body["path"] for body in named] == [file.path.rpartition("/")[2] for file in sidecars]
    inline = [kind for kind in ("add", "remove") if _bodies(rows, kind)]
    assert inline == ([] if sidecars else ["add", "remove"])


@pytest.mark.rule("checkpoint-combination-v1", "checkpoint-uuid-is-v2", "checkpoint-v1-flat")
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_flat_checkpoint_has_no_uuid_in_its_name_and_everything_in_it(
    form: CheckpointForm, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, _COMMIT)
    (top, *sidecars) = (log.root / file.path for file in write(log, form).files)
    text = top.read_bytes() if top.suffix == ".json" else b""
    kinds = {kind for line in text.splitlines() for kind in json.loads(line)}
    if top.suffix == ".parquet":
        rows = pq.ParquetFile(top).read()
        kinds = {name for name in rows.schema.names if _bodies(rows, name)}
    if top.name == f"{0:020}.checkpoint.parquet":
        assert kinds == {"metaData", "protocol", "txn", "add", "remove"}
        assert sidecars == []
    else:
        assert "checkpointMetadata" in kinds
    assert (form is CLASSIC) == (top.name == f"{0:020}.checkpoint.parquet")
