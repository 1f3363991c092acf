"""V2 checkpoints under the classic name too, for clients that do not know V2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import CorruptLogError, UnsupportedError
from explorer.log.checkpoint_writing.checkpoint_form import CheckpointForm
from explorer.log.checkpoint_writing.classic_copy import write_classic_copy
from explorer.progress import UNWATCHED
from explorer.storage.local import LocalStore
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, commit_name, metadata, remove, vector
from tests.unit.log.checkpoint_cases import INLINE, JSON, PARQUET, build_log, left, shown, write

CLASSIC_NAME = f"{2:020}.checkpoint.parquet"


def copied(log: LogFolder, store: LocalStore | None = None) -> str:
    """Copy the one checkpoint of a log; the name of the checkpoint."""
    (files,) = explorer.open_table(log.root).listing().checkpoints
    write_classic_copy(store or LocalStore(str(log.root)), files, UNWATCHED)
    return files.names[0]


def only_with_the_copy(log: LogFolder, name: str) -> explorer.Table:
    """The table as a client sees it that knows the classic name alone."""
    for gone in (name, "_last_checkpoint", *(commit_name(version) for version in range(2))):
        (log.log / gone).unlink(missing_ok=True)
    return explorer.open_table(log.root)


@pytest.mark.slow
@pytest.mark.rule("checkpoint-uuid-occasional-classic", "checkpoint-combination-v2")
@pytest.mark.parametrize("form", [INLINE, JSON, PARQUET], ids=["inline", "json", "parquet"])
def test_version_is_the_same_from_the_copy_alone(tmp_path: Path, form: CheckpointForm) -> None:
    log = build_log(tmp_path)
    write(log, form)
    before = shown(explorer.open_table(tmp_path).snapshot())
    table = only_with_the_copy(log, copied(log))
    snapshot = table.snapshot()
    assert snapshot.segment.checkpoint is not None
    assert snapshot.segment.checkpoint.names == (CLASSIC_NAME,)
    assert shown(snapshot) == before


def test_copy_names_the_sidecars_of_its_original_and_makes_none(tmp_path: Path) -> None:
    log = build_log(tmp_path)
    write(log, JSON)
    before = left(log)
    copied(log)
    assert left(log) == sorted([*before, CLASSIC_NAME])


def test_json_without_sidecars_is_copied_with_fields_that_nobody_knows(tmp_path: Path) -> None:
    log = LogFolder(tmp_path)
    files: list[Any] = [
        add("a b%20c.parquet", tags={"k": None}, deletionVector=vector(), newField=3),
        add("b.parquet", partitionValues={"p": None}),
        remove("c.parquet", tags={"x": "y"}),
    ]
    first = [FEATURE_PROTOCOL, metadata(partitionColumns=["p"])]
    for version in range(3):
        log.commit(version, [*first, *files] if version == 0 else [])
    later = {"notYetInvented": {"x": 1}}
    log.checkpoint(2, [*first, *files, later], form="v2-json", sidecars=0)
    before = shown(explorer.open_table(tmp_path).snapshot())
    assert shown(only_with_the_copy(log, copied(log)).snapshot()) == before


def test_value_that_fits_into_no_column_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    log = LogFolder(tmp_path)
    first = [FEATURE_PROTOCOL, metadata()]
    for version in range(3):
        log.commit(version, first if version == 0 else [])
    bad = add("a.parquet", size="many")
    log.checkpoint(2, [*first, bad], form="v2-json", sidecars=0)
    with pytest.raises(UnsupportedError, match="classic name"):
        copied(log)
    assert CLASSIC_NAME not in left(log)


class TearingStore(LocalStore):
    """Loses the last byte of what is written in pieces."""

    def open_output(self, path: str) -> Any:
        opened = super().open_output(path)
        place = Path(self._root) / path

        class Torn:
            def __enter__(self) -> Any:
                return opened.__enter__()

            def __exit__(self, *told: Any) -> None:
                opened.__exit__(*told)
                place.write_bytes(place.read_bytes()[:-1])

        return Torn()


@pytest.mark.parametrize("form", [INLINE, JSON], ids=["parquet", "json"])
def test_copy_that_does_not_read_back_is_deleted_again(
    tmp_path: Path, form: CheckpointForm
) -> None:
    log = build_log(tmp_path)
    write(log, form)
    before = left(log)
    with pytest.raises(CorruptLogError, match="written"):
        copied(log, TearingStore(str(tmp_path)))
    assert left(log) == before
