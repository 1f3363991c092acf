"""Checkpoints that cannot be used: an older one, or the commits, take their place and
the problem is told; where there is no other way, there is one clear error."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import DeltaError
from tests.faults.case import state_at_1, three_versions
from tests.faults.damage import DAMAGE, Damage, damaged_checkpoint, forget, scribble
from tests.tables import (
    CHECKPOINT_FORMS,
    COLUMNS,
    FEATURE_PROTOCOL,
    PROTOCOL,
    CheckpointForm,
    add,
    commit_name,
    metadata,
    write_parquet,
)


def _assert_whole(snapshot: explorer.Snapshot) -> None:
    files = snapshot.files(["path", "size"])
    files.validate(full=True)
    assert {row["path"] for row in files.to_pylist()} == {"a", "b", "c"}
    assert snapshot.num_files == files.num_rows == 3
    assert snapshot.size_in_bytes == 300


@pytest.mark.rule("checkpoint-no-frequency-assumption")
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("form", CHECKPOINT_FORMS)
def test_damaged_checkpoint_gives_way_to_the_commits(
    form: CheckpointForm, damage: Damage, tmp_path: Path
) -> None:
    if form == "v2-json" and damage is scribble:
        return  # there are no pages in it
    snapshot = explorer.open_table(damaged_checkpoint(tmp_path, damage, form=form).root).snapshot()
    _assert_whole(snapshot)
    # a file that is gone leaves no trace, unless others of its checkpoint stay
    if damage is forget and form != "multi-part":
        assert not snapshot.problems
        return
    (problem,) = snapshot.problems
    assert problem.kind == "checkpoint_unusable"
    assert str(problem.place).startswith(f"{1:020}.checkpoint")


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("form", ["v2-json", "v2-parquet", "v2-classic-name"])
def test_damaged_sidecar_gives_way_to_the_commits(
    form: CheckpointForm, damage: Damage, tmp_path: Path
) -> None:
    log = damaged_checkpoint(tmp_path, damage, form=form, sidecars=2, hits_sidecar=True)
    snapshot = explorer.open_table(log.root).snapshot()
    _assert_whole(snapshot)
    assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("form", CHECKPOINT_FORMS)
def test_damaged_checkpoint_without_another_way_is_refused(
    form: CheckpointForm, damage: Damage, tmp_path: Path
) -> None:
    if form == "v2-json" and damage is scribble:
        return
    log = damaged_checkpoint(tmp_path, damage, form=form)
    (log.log / commit_name(0)).unlink()
    with pytest.raises(DeltaError) as caught:
        _ = explorer.open_table(log.root).snapshot().num_files
    assert all((caught.value.problem, caught.value.reason, caught.value.remedy))
    # without the file there is nothing but the gap to speak of
    assert caught.value.kind == ("log_gap" if damage is forget else "checkpoint_unusable")


@pytest.mark.rule("older-003-checkpoint-complete-only")
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_damaged_checkpoint_gives_way_to_an_older_one(damage: Damage, tmp_path: Path) -> None:
    log = damaged_checkpoint(tmp_path, damage, form="multi-part")
    log.checkpoint(0, [FEATURE_PROTOCOL, metadata(), add("a")])
    (log.log / commit_name(0)).unlink()
    snapshot = explorer.open_table(log.root).snapshot()
    _assert_whole(snapshot)
    assert snapshot.segment.checkpoint is not None
    assert snapshot.segment.checkpoint.version == 0
    assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


def test_every_damaged_checkpoint_on_the_way_is_told(tmp_path: Path) -> None:
    log = three_versions(tmp_path)
    (newest,) = log.checkpoint(2, [*state_at_1(), add("c")])
    (older,) = log.checkpoint(1, state_at_1())
    newest.write_bytes(b"")  # found when it is opened
    scribble(older)  # found when its pages are read
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 3
    assert {problem.place for problem in snapshot.problems} == {newest.name, older.name}


@pytest.mark.rule("checkpoint-v2-nonfile-inside")
def test_checkpoint_cut_between_two_lines_is_not_taken_for_whole(tmp_path: Path) -> None:
    # whatever is missing from it: the protocol, the metadata, or what it says of itself
    for kept in range(3):
        log = three_versions(tmp_path / str(kept), FEATURE_PROTOCOL)
        (place,) = log.checkpoint(1, state_at_1(FEATURE_PROTOCOL), form="v2-json")
        lines = place.read_text().splitlines(keepends=True)
        place.write_text("".join(lines[:kept]))
        snapshot = explorer.open_table(log.root).snapshot()
        assert snapshot.num_files == 3
        assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


_WRONG_SCHEMAS: dict[str, dict[str, pa.DataType]] = {
    "add is a number": {**COLUMNS, "add": pa.int64()},
    "add has no path": {**COLUMNS, "add": pa.struct([("size", pa.int64())])},
    "path is a number": {**COLUMNS, "add": pa.struct([("path", pa.int64())])},
    "size is a struct": {
        **COLUMNS,
        "add": pa.struct([("path", pa.string()), ("size", pa.struct([("a", pa.int64())]))]),
    },
    "protocol is a string": {**COLUMNS, "protocol": pa.string()},
    "protocol without its versions": {**COLUMNS, "protocol": pa.struct([("x", pa.int64())])},
    "metadata is missing": {name: kind for name, kind in COLUMNS.items() if name != "metaData"},
    "nothing known": {"x": pa.int64()},
}


@pytest.mark.parametrize("name", _WRONG_SCHEMAS)
def test_checkpoint_of_a_wrong_schema_gives_way_to_the_commits(name: str, tmp_path: Path) -> None:
    columns = _WRONG_SCHEMAS[name]
    log = three_versions(tmp_path)
    rows = [
        {key: _fitting(columns[key], body) for key, body in action.items() if key in columns}
        for action in state_at_1()
    ]
    write_parquet(log.log / f"{1:020}.checkpoint.parquet", rows, columns=columns)
    snapshot = explorer.open_table(log.root).snapshot()
    _assert_whole(snapshot)
    assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


def _fitting(kind: pa.DataType, body: object) -> object:
    """A value that a column of the wrong type can hold."""
    if pa.types.is_struct(kind):
        held = body if isinstance(body, dict) else {}
        return {field.name: _fitting(field.type, held.get(field.name)) for field in kind}
    if pa.types.is_string(kind):
        return body if isinstance(body, str) else "text"
    if pa.types.is_integer(kind):
        return body if isinstance(body, int) else 5
    if pa.types.is_map(kind):
        return body if isinstance(body, dict) else None
    return body if isinstance(body, (bool, list)) else None


def test_statistics_of_a_wrong_type_are_a_problem_not_a_crash(tmp_path: Path) -> None:
    for name, kind, value in (
        ("text", pa.string(), "many"),
        ("fraction", pa.float64(), 1.5),
        ("struct", pa.struct([("a", pa.int64())]), {"a": 1}),
    ):
        log = three_versions(tmp_path / name)
        fields = [*COLUMNS["add"], pa.field("stats_parsed", pa.struct([("numRecords", kind)]))]
        rows = [
            {"add": {**action["add"], "stats_parsed": {"numRecords": value}}}
            if "add" in action
            else action
            for action in state_at_1()
        ]
        write_parquet(
            log.log / f"{1:020}.checkpoint.parquet",
            rows,
            columns={**COLUMNS, "add": pa.struct(fields)},
        )
        snapshot = explorer.open_table(log.root).snapshot()
        assert snapshot.num_rows is None
        assert snapshot.num_files == 3


def test_text_of_a_checkpoint_that_is_not_utf8_is_a_problem(tmp_path: Path) -> None:
    for field in ("path", "id"):
        log = three_versions(tmp_path / field)
        (place,) = log.checkpoint(
            1, [PROTOCOL, metadata(id="NAME-OF-IT"), add("NAME-OF-IT"), add("b")]
        )
        _rewrite_text(place, field)
        snapshot = explorer.open_table(log.root).snapshot()
        # validating reads every string as UTF-8
        snapshot.files().validate(full=True)
        assert {row.as_py() for row in snapshot.files(["path"])["path"]} == {"a", "b", "c"}
        assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


def _rewrite_text(place: Path, field: str) -> None:
    """The column `field` of adds or metadata with bytes that are not UTF-8."""
    binary = {
        name: pa.struct(
            [
                (inner.name, pa.binary() if inner.name == field else inner.type)
                for inner in COLUMNS[name]
            ]
        )
        for name in ("add", "metaData")
    }
    rows = [PROTOCOL, metadata(), add("a"), add("b")]
    for row in rows[1:]:
        (body,) = row.values()
        if field in body:
            body[field] = b"\xff\xfe"
    write_parquet(place, rows, columns={**COLUMNS, **binary})
    # the same bytes, now declared as text: no writer would check them
    table = pq.read_table(place)
    unchecked = pa.Table.from_arrays(
        [_declared_as_text(column, COLUMNS[name]) for name, column in _columns(table)],
        schema=pa.schema([(name, COLUMNS[name]) for name in table.column_names]),
    )
    pq.write_table(unchecked, place)


def _columns(table: pa.Table) -> list[tuple[str, pa.Array]]:
    return [(name, table.column(name).combine_chunks()) for name in table.column_names]


def _declared_as_text(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if not pa.types.is_struct(wanted):
        return column.cast(wanted)
    children = []
    for at in range(wanted.num_fields):
        child = column.field(at)
        if pa.types.is_binary(child.type):
            child = pa.Array.from_buffers(
                pa.string(), len(child), child.buffers(), child.null_count, child.offset
            )
        children.append(child)
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=column.is_null())
