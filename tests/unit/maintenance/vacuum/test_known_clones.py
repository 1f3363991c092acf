"""A vacuum of a table warns of shallow clones that lie beside it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer import maintenance, pipeline
from explorer.errors import StorageError
from explorer.maintenance import Plan
from explorer.storage.local import LocalStore
from tests.unit.maintenance.lake import DAY_MS, approve


@pytest.fixture
def source(tmp_path: Path) -> Path:
    place = tmp_path / "source"
    pipeline.write(pa.table({"id": [1, 2, 3]}), place)
    pipeline.write(pa.table({"id": [4]}), place)
    return place


def planned(source: Path, within: list[str] | None = None) -> Plan:
    later = int(time.time() * 1000) + 40 * DAY_MS
    return maintenance.plan_vacuum(explorer.open_table(source, within=within), clock=lambda: later)


def said(plan: Plan) -> list[tuple[str, bool]]:
    return [(item.message, item.asks_for_name) for item in plan.verdicts if item.guard == "clones"]


def test_files_that_a_clone_beside_the_table_needs_ask_for_its_name(source: Path) -> None:
    assert said(planned(source)) == []
    pipeline.clone(source, source.parent / "clone", version=0)
    pipeline.write(pa.table({"id": [9]}), source.parent / "other")
    assert said(planned(source)) == []  # nothing would be deleted
    pipeline.write(pa.table({"id": [5]}), source, mode="overwrite")
    plan = planned(source)
    [(message, asks)] = said(plan)
    assert asks
    assert plan.asks_for_reason
    assert message.startswith(
        f"1 file is needed by 1 shallow clone of the table, {source.parent}/clone."
    )
    assert "Clones elsewhere are not known" in message
    assert plan.effect["clones"] == [{"uri": f"{source.parent}/clone", "num_needed": 1}]
    assert plan.effect["num_files"] == 2
    # a page that may not look there says nothing of it, and one that may does
    assert said(planned(source, within=[])) == []
    assert said(planned(source, within=[str(source.parent)])) == said(plan)


def test_a_clone_that_needs_no_file_is_told_and_one_without_its_beginning_is_known(
    source: Path, tmp_path: Path
) -> None:
    clone = source.parent / "clone"
    pipeline.clone(source, clone)
    pipeline.delete(clone, "id = 4")
    pipeline.delete(source, "id = 4")
    [(message, asks)] = said(planned(source))
    assert not asks
    assert message.startswith("No file is needed by 1 shallow clone of the table")
    pipeline.delete(source, "id < 4")
    plan = maintenance.plan_checkpoint(explorer.open_table(clone))
    maintenance.execute(plan, approve(plan), state_dir=tmp_path / "state")
    (clone / "_delta_log" / "00000000000000000000.json").unlink()
    (clone / "_delta_log" / "00000000000000000000.crc").unlink()
    [(message, asks)] = said(planned(source))
    assert asks
    assert message.startswith("1 file is needed by")
    for each in (clone / "_delta_log").glob("*.parquet"):
        each.write_bytes(b"PAR1")
    [(message, asks)] = said(planned(source))
    assert asks
    assert message.startswith(
        f"1 table beside it could not be read, and may be a clone that needs files: {clone}."
    )
    shutil.rmtree(clone)
    assert said(planned(source)) == []


def test_clones_beside_a_table_of_an_object_store_are_known(tmp_path: Path) -> None:
    lake = f"memory://{tmp_path.name}"
    pipeline.write(pa.table({"id": [1, 2]}), f"{lake}/t")
    pipeline.clone(f"{lake}/t", f"{lake}/clone")
    pipeline.write(pa.table({"id": [3]}), f"{lake}/t", mode="overwrite")
    later = int(time.time() * 1000) + 40 * DAY_MS
    found = {}
    for name, within in (("all", None), ("its own", []), ("the lake", [lake])):
        table = explorer.open_table(f"{lake}/t", within=within)
        found[name] = said(maintenance.plan_vacuum(table, clock=lambda: later))
    assert found["its own"] == []
    assert found["all"] == found["the lake"]
    [(message, asks)] = found["all"]
    assert asks
    assert message.startswith(f"1 file is needed by 1 shallow clone of the table, {lake}/clone.")


def test_a_clone_that_names_the_table_through_a_link_is_known(source: Path) -> None:
    link = source.parent / "link"
    link.symlink_to(source)
    pipeline.clone(source, source.parent / "clone")
    pipeline.write(pa.table({"id": [5]}), source, mode="overwrite")
    [(message, asks)] = said(planned(link))
    assert asks
    assert message.startswith("2 files are needed by 1 shallow clone of the table")


def test_a_clone_of_a_copy_is_none_of_the_table(source: Path) -> None:
    twin = Path(shutil.copytree(source, source.parent / "twin"))
    pipeline.clone(twin, source.parent / "clone")  # of files with the same names
    pipeline.write(pa.table({"id": [5]}), source, mode="overwrite")
    pipeline.write(pa.table({"id": [5]}), twin, mode="overwrite")
    assert said(planned(source)) == []
    [(message, _)] = said(planned(twin))
    assert message.startswith("2 files are needed by 1 shallow clone")


@pytest.mark.parametrize("is_told", [True, False])
def test_a_clone_is_known_whose_first_commit_says_so_late_or_not_at_all(
    source: Path, is_told: bool
) -> None:
    clone = source.parent / "clone"
    pipeline.clone(source, clone)
    first = clone / "_delta_log" / f"{0:020}.json"
    info, *lines = first.read_text("utf-8").splitlines()
    assert "CLONE" in info
    if is_told:
        lines = [*lines, '{"txn":{"appId":"' + "x" * 2**17 + '","version":1}}', info]
    first.write_text("\n".join(lines), "utf-8")
    pipeline.write(pa.table({"id": [5]}), source, mode="overwrite")
    [(message, _)] = said(planned(source))
    assert message.startswith("2 files are needed by 1 shallow clone")


def test_a_store_that_fails_is_not_taken_for_one_without_clones(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.clone(source, source.parent / "clone")
    pipeline.write(pa.table({"id": [5]}), source, mode="overwrite")
    read = LocalStore.read

    def failing(store: LocalStore, path: str, *rest: Any, **more: Any) -> bytes:
        if store.uri.endswith("/clone"):
            raise StorageError("The store failed.", reason="It is away.", remedy="Try again.")
        return read(store, path, *rest, **more)

    monkeypatch.setattr(LocalStore, "read", failing)
    [(message, asks)] = said(planned(source))
    assert asks
    assert message.startswith("1 table beside it could not be read, and may be a clone")
    monkeypatch.undo()

    def no_listing(_: LocalStore) -> list[str]:
        raise StorageError("The store failed.", reason="It is away.", remedy="Try again.")

    monkeypatch.setattr(LocalStore, "list_neighbours", no_listing)
    with pytest.raises(StorageError, match="The store failed"):
        planned(source)
