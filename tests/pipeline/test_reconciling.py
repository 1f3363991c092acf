"""Commits that tasks reconcile, against a model on plain Python values; without Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.log.actions.columns import COLUMNS, empty_table, schema_of
from explorer.log.checkpoint.parquet_part import open_part
from explorer.pipeline.large._large_commits import (
    Row,
    Spread,
    dead_rows,
    reconcile_buckets,
)
from explorer.pipeline.large.large_tasks import PieceState, build_pieces
from explorer.pipeline.tasks.task_groups import pack_files, unpack_files
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove, vector

# two forms of one path, and another one
_PATHS = ("file:/t/a", "file:///t/a", "b", "c", "d")
_KEYS = st.tuples(st.sampled_from(_PATHS), st.sampled_from([None, 1, 2]))
_ACTIONS = st.dictionaries(_KEYS, st.sampled_from(["add", "remove"]), max_size=6)


def _key(path: str, offset: int | None) -> tuple[str, int | None]:
    return ("file:/t/a" if path.startswith("file:") else path, offset)


def _action(key: tuple[str, int | None], kind: str, size: int) -> Any:
    path, offset = key
    fields = {} if offset is None else {"deletionVector": vector(offset=offset)}
    return add(path, size=size, **fields) if kind == "add" else remove(path, size=size, **fields)


def _one_a_key(actions: dict[Any, str]) -> dict[Any, str]:
    """A commit speaks of a file once, whatever the form of its path."""
    last = {_key(*key): (key, kind) for key, kind in actions.items()}
    return dict(last.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(_ACTIONS, min_size=1, max_size=6), st.integers(1, 3), st.integers(1, 4))
def test_the_newest_action_of_a_file_wins_wherever_it_is_worked_on(
    told: list[dict[Any, str]], commits_of_a_run: int, num_buckets: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = LogFolder(Path(folder) / "t")
        versions = [_one_a_key(actions) for actions in told]
        model: dict[Any, tuple[str, int]] = {}
        for version, actions in enumerate(versions):
            lines = [_action(key, kind, version) for key, kind in actions.items()]
            model |= {_key(*key): (kind, version) for key, kind in actions.items()}
            if version:
                log.commit(version, lines)
            else:  # the first is a checkpoint
                log.checkpoint(0, [PROTOCOL, metadata(), *lines], rows_per_group=8)
        found = _reconciled(log.root, len(versions), commits_of_a_run, num_buckets)
        assert found == {key: told for key, told in model.items() if told[0] == "add"}
        if len(versions) > 1:
            here = explorer.open_table(log.root).snapshot().files(["size"])
            assert sorted(size for _, size in found.values()) == sorted(here["size"].to_pylist())


def _reconciled(root: Path, versions: int, step: int, num_buckets: int) -> dict[Any, Any]:
    store = explorer.open_table(root).store
    part = open_part(store, f"_delta_log/{0:020}.checkpoint.parquet")
    nothing = pack_files(empty_table(schema_of(COLUMNS["add"])))
    spread = Spread(
        store=store,
        runs=tuple(range(first, min(first + step, versions)) for first in range(1, versions, step)),
        pieces=build_pieces([part]),
        inline=(nothing, pack_files(empty_table(schema_of(COLUMNS["remove"])))),
        num_buckets=num_buckets,
    )
    count = len(spread.runs) + len(spread.pieces) + 1
    numbers = pa.RecordBatch.from_pydict({"id": list(range(count))})
    rows = list(_rows(reconcile_buckets(spread(iter([numbers])))))
    pieces = dead_rows(spread.pieces, [row for row in rows if row.action.startswith("dead")])
    newer = [unpack_files(row.cell) for row in rows if row.action == "add"]
    files = [pa.concat_tables([empty_table(schema_of(COLUMNS["add"])), *newer])]
    for piece in pieces:
        state = PieceState(store, part=part, groups=piece.groups, dead=piece.dead)
        files += state.tables("add", list(COLUMNS["add"]))
    return {
        _key(file["path"], file["deletion_vector"] and file["deletion_vector"]["offset"]): (
            "add",
            file["size"],
        )
        for file in pa.concat_tables(files).to_pylist()
    }


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from (Row(**row) for row in batch.to_pylist())
