"""The V2 checkpoint that `_last_checkpoint` repeats."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.errors import DeltaError
from explorer.protocol.last_checkpoint import build_hint_checksum, parse_last_checkpoint
from explorer.storage.local import LocalStore
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

_PARQUET = "spark44-v2-checkpoint-sidecars"
_JSON = "golden-v2-checkpoint-json"
_EMBEDDED = (
    _PARQUET,
    _JSON,
    "deltars-checkpoint-v2-table",
    "javakernel-kernel-pagination-v2-checkpoint-parquet",
    "kernel-v2-checkpoints-json-with-sidecars",
    "kernel-v2-checkpoints-parquet-with-last-checkpoint",
    "kernel-v2-json-sidecars-struct-stats-only",
)


class _Noting(LocalStore):
    """A store that notes what is read and opened."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.names: list[str] = []

    def read(self, path: str, limit: int | None = None) -> bytes:
        self.names.append(path.rpartition("/")[2])
        return super().read(path, limit)

    def open_input(self, path: str) -> pa.NativeFile:
        self.names.append(path.rpartition("/")[2])
        return super().open_input(path)


def _copy(corpus: Path, name: str, scratch: Path) -> Path:
    return Path(shutil.copytree(corpus / "tables" / name, scratch / name))


def _hint(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "_delta_log/_last_checkpoint").read_bytes())
    return found


def _write_hint(place: Path, hint: dict[str, Any], *, checksum: str | None = "right") -> None:
    body = {key: value for key, value in hint.items() if key != "checksum"}
    if checksum is not None:
        right = build_hint_checksum(json.dumps(body).encode())
        body["checksum"] = right if checksum == "right" else checksum
    (place / "_delta_log/_last_checkpoint").write_text(json.dumps(body))


def _state(snapshot: Snapshot) -> tuple[object, ...]:
    return (
        snapshot.protocol,
        snapshot.metadata,
        sorted(map(repr, snapshot.files().to_pylist())),
        sorted(map(repr, snapshot.tombstones().to_pylist())),
    )


@pytest.mark.rule("checkpoint-v2-embed-in-pointer")
@pytest.mark.parametrize("name", _EMBEDDED)
def test_hint_repeats_what_the_checkpoint_says(name: str, corpus: Path, tmp_path: Path) -> None:
    place = _copy(corpus, name, tmp_path)
    wanted = explorer.open_table(place).snapshot()
    embedded = parse_last_checkpoint((place / "_delta_log/_last_checkpoint").read_bytes()).embedded
    assert embedded is not None
    # the file's content is gone, so that only the hint can answer
    (place / "_delta_log" / embedded.path).write_bytes(b"")
    for commit in (place / "_delta_log").glob("*.json"):
        if "checkpoint" not in commit.name and int(commit.name[:20]) <= _hint(place)["version"]:
            commit.unlink()
    assert _state(explorer.open_table(place).snapshot()) == _state(wanted)


@pytest.mark.rule("checkpoint-v2-embed-in-pointer")
def test_parquet_top_level_is_not_opened(corpus: Path) -> None:
    store = _Noting(corpus / "tables" / _PARQUET)
    snapshot = Table(store).snapshot()
    assert store.names == ["_last_checkpoint", f"{8:020}.json"]
    assert snapshot.num_files == 14
    assert snapshot.problems == ()


def test_json_top_level_is_read_because_that_costs_the_same(corpus: Path) -> None:
    store = _Noting(corpus / "tables" / _JSON)
    assert Table(store).snapshot().problems == ()
    assert "_last_checkpoint" not in store.names


@pytest.mark.rule("checkpoint-time-travel-not-newer", "pointer-may-be-stale")
def test_older_version_is_not_put_together_from_a_newer_hint(corpus: Path) -> None:
    table = explorer.open_table(corpus / "tables" / _PARQUET)
    segment = table.snapshot(version=6).segment
    assert segment.checkpoint is not None
    assert segment.checkpoint.version == 5


Change = Callable[[dict[str, Any]], object]


@pytest.mark.rule("checkpoint-v2-embed-in-pointer", "pointer-may-be-stale")
@pytest.mark.parametrize(
    ("change", "checksum"),
    [
        pytest.param(lambda hint: hint, None, id="no checksum"),
        pytest.param(lambda hint: hint, "0" * 32, id="wrong checksum"),
        pytest.param(lambda hint: hint.update(version=5), "right", id="another version"),
        pytest.param(
            lambda hint: hint["v2Checkpoint"].update(path=f"{7:020}.checkpoint.parquet"),
            "right",
            id="a file that is not there",
        ),
        pytest.param(
            lambda hint: hint["v2Checkpoint"].update(sidecarFiles=[]), "right", id="no sidecars"
        ),
        pytest.param(
            lambda hint: hint["v2Checkpoint"].pop("nonFileActions"), "right", id="no other actions"
        ),
        pytest.param(
            lambda hint: hint["v2Checkpoint"]["nonFileActions"].pop(0), "right", id="no protocol"
        ),
        pytest.param(
            lambda hint: hint["v2Checkpoint"]["nonFileActions"][0]["protocol"].update(
                minReaderVersion="3"
            ),
            "right",
            id="a protocol of wrong types",
        ),
        pytest.param(lambda hint: hint.update(v2Checkpoint=5), "right", id="no object"),
        pytest.param(
            lambda hint: hint["v2Checkpoint"].update(sidecarFiles=[5]), "right", id="no sidecar"
        ),
        pytest.param(
            lambda hint: hint["v2Checkpoint"]["sidecarFiles"].append({}), "right", id="no path"
        ),
    ],
)
def test_hint_that_does_not_prove_itself_is_left_alone(
    change: Change, checksum: str | None, corpus: Path, tmp_path: Path
) -> None:
    place = _copy(corpus, _PARQUET, tmp_path)
    wanted = _state(explorer.open_table(place).snapshot())
    hint = _hint(place)
    change(hint)
    _write_hint(place, hint, checksum=checksum)
    store = _Noting(place)
    snapshot = Table(store).snapshot()
    assert _state(snapshot) == wanted
    assert any(".checkpoint." in name for name in store.names)
    assert snapshot.problems == ()


@pytest.mark.rule("checkpoint-sidecar-action-size")
@pytest.mark.parametrize("size", [None, 5])
def test_wrong_sidecars_in_the_hint_give_way_to_the_checkpoint(
    size: int | None, corpus: Path, tmp_path: Path
) -> None:
    place = _copy(corpus, _PARQUET, tmp_path)
    wanted = _state(explorer.open_table(place).snapshot())
    hint = _hint(place)
    sidecar = hint["v2Checkpoint"]["sidecarFiles"][0]
    sidecar.update({"path": "gone.parquet"} if size is None else {"sizeInBytes": size})
    _write_hint(place, hint)
    snapshot = explorer.open_table(place).snapshot()
    assert _state(snapshot) == wanted
    assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


def test_hint_of_endless_length_is_not_read_whole(corpus: Path, tmp_path: Path) -> None:
    place = _copy(corpus, _PARQUET, tmp_path)
    with (place / "_delta_log/_last_checkpoint").open("wb") as file:
        file.truncate(2**33)
    assert explorer.open_table(place).snapshot().num_files == 14


def test_nothing_stands_in_for_a_broken_sidecar(corpus: Path, tmp_path: Path) -> None:
    place = _copy(corpus, _PARQUET, tmp_path)
    for commit in (place / "_delta_log").glob("*.json"):
        if int(commit.name[:20]) <= 7:
            commit.unlink()
    for sidecar in (place / "_delta_log/_sidecars").iterdir():
        sidecar.write_bytes(b"")
    with pytest.raises(DeltaError) as caught:
        explorer.open_table(place).snapshot().files()
    assert caught.value.kind == "checkpoint_unusable"
