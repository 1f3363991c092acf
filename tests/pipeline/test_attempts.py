"""Tasks that are tried again, without Spark: what they tell, and what becomes of their files."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import explorer
from explorer import pipeline
from explorer.pipeline.changing._change_tasks import WriteChangedRows
from explorer.pipeline.merging._merge_tasks import WriteMerged
from explorer.pipeline.removing import attempts
from explorer.pipeline.removing._record_tasks import RecordRows
from explorer.pipeline.removing.attempts import remove_other_attempts
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.tasks.attempts import Retries
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS
from explorer.pipeline.writing._write_tasks import WriteRows
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.stored_rows import rows_to_change
from explorer.table.snapshot import Snapshot
from explorer.writing.changes.changed_rows import INSERT, KIND, change_form
from explorer.writing.changes.row_changes import RowChanges
from explorer.writing.files.row_files import change_data_form, row_form


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """Of a table with the ids 1 to 6 in one file."""
    pipeline.write(pa.table({"id": range(1, 7)}), tmp_path / "t")
    return explorer.open_table(tmp_path / "t").snapshot()


def work_of(snapshot: Snapshot, kind: str, numbers: list[int]) -> tuple[Any, Any]:
    """What a statement lets a task do that writes files, and that many rows for it."""
    protocol, metadata = snapshot.protocol, snapshot.metadata
    store, statement = open_place(snapshot.uri, None), uuid4()
    if kind == "change data":
        task = RecordRows(
            store=store,
            request=rows_to_change(snapshot),
            form=change_data_form(protocol, metadata),
            statement=statement,
            change_type="delete",
        )
        return task, snapshot.files([*FILE_COLUMNS, NUM_RECORDS]).slice(0, len(numbers))
    rows = {"id": pa.array(numbers, pa.int64())}
    if kind == "write":
        form = row_form(protocol, metadata)
        return WriteRows(store=store, form=form, statement=statement), [pa.record_batch(rows)]
    rows[KIND] = pa.array([INSERT] * len(numbers), pa.string())
    changed = change_form(protocol, metadata, with_feed=False)
    if kind == "update":
        found = WriteChangedRows(store=store, form=changed, statement=statement)
        return found, [pa.record_batch(rows)]
    rows["clause"] = pa.array([0] * len(numbers), pa.int32())
    merge = WriteMerged(
        store=store, form=changed, statement=statement, clause="clause", numbered={}
    )
    return merge, [pa.record_batch(rows)]


@pytest.mark.parametrize("kind", ["write", "update", "merge", "change data"])
def test_an_attempt_without_rows_is_told(
    snapshot: Snapshot, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for attempt, numbers in ((0, []), (0, [60]), (1, [60]), (1, [])):
        task, given = work_of(snapshot, kind, numbers)
        module = sys.modules[type(task).__module__]
        monkeypatch.setattr(module, "attempt_number", lambda attempt=attempt: attempt)
        retries = Retries()
        files = retries.hear(pa.Table.from_batches([*task(given)]))
        assert retries.seen == (attempt == 1)
        assert files.num_rows == len(numbers)


@pytest.mark.parametrize("kind", ["tried again", "speculated", "neither"])
def test_a_change_leaves_no_file_of_an_attempt_that_nobody_heard_of(
    snapshot: Snapshot, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[object] = []
    monkeypatch.setattr(attempts, "await_tasks", waited.append)
    session: Any = SimpleNamespace(conf={"spark.speculation": str(kind == "speculated").lower()})
    task, given = work_of(snapshot, "update", [60])
    place = Workplace(store=task.store, session=session, watch=UNWATCHED)
    list(task(given))
    monkeypatch.setattr(
        sys.modules[type(task).__module__], "attempt_number", lambda: int(kind == "tried again")
    )
    monkeypatch.setattr(sys.modules[type(task).__module__], "run_number", lambda: 7)
    written = place.retries.hear(pa.Table.from_batches([*task(given)]))
    statement: Any = SimpleNamespace(target=SimpleNamespace(store=task.store), id=task.statement)
    assert remove_other_attempts(statement, place, RowChanges(written=written)) == ()
    left = [path for path in task.store.list_names("") if str(task.statement) in path]
    assert len(left) == (2 if kind == "neither" else 1)
    assert written["path"][0].as_py() in left
    assert len(waited) == (kind != "neither")
    assert explorer.read_rows(snapshot).num_rows == 6
