"""What becomes of files that are written when another commit is first: they are kept, and the
commit alone is repeated, unless their rows depend on what that commit did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import orjson
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import explorer
from explorer import pipeline
from explorer.errors import ConflictError
from explorer.pipeline.writing.given_data import rows_given
from explorer.pipeline.writing.write import write_to
from explorer.protocol.filenames import render_commit_path
from explorer.storage.local import LocalStore
from explorer.storage.ports import Content, PutOutcome
from explorer.writing.statements.options import WriteOptions

OTHER = pa.table({"id": [7], "land": ["FR"]})
ROWS = pa.table({"id": [1, 2], "land": ["DE", "IT"]})


class Overtaken(LocalStore):
    """Another commit is there before the first one by this store."""

    def __init__(self, root: Path, other: Callable[[], object]) -> None:
        super().__init__(str(root))
        self._other: Callable[[], object] | None = other
        self.commits: list[str] = []
        self.written: list[str] = []
        self.deleted: list[str] = []

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        if path.endswith(".json"):
            self.commits.append(path)
        other, self._other = self._other, None
        if other is not None:
            other()
        return super().put_if_absent(path, data)

    def open_output(self, path: str) -> AbstractContextManager[BinaryIO]:
        self.written.append(path)
        return super().open_output(path)

    def delete(self, path: str) -> None:
        self.deleted.append(path)
        super().delete(path)


def added_by(place: Path, version: int) -> list[str]:
    lines = (place / render_commit_path(version)).read_bytes().splitlines()
    adds = (orjson.loads(line).get("add") for line in lines)
    return sorted(add["path"] for add in adds if add)


def numbers(place: Path, column: str) -> list[int]:
    rows = explorer.read_rows(explorer.open_table(place).snapshot(), columns=[column])
    return sorted(rows.column(column).to_pylist())


@pytest.mark.parametrize(
    ("options", "after"),
    [
        (WriteOptions(), [0, 1, 2, 7]),
        (WriteOptions(mode="overwrite"), [1, 2]),
        (WriteOptions(mode="overwrite", partition_overwrite="dynamic"), [0, 1, 2, 7]),
    ],
    ids=["append", "overwrite", "dynamic"],
)
@pytest.mark.parametrize("is_rereadable", [True, False], ids=["table", "reader"])
def test_a_lost_race_repeats_the_commit_and_writes_no_file_again(
    tmp_path: Path, options: WriteOptions, after: list[int], is_rereadable: bool
) -> None:
    place = tmp_path / "t"
    pipeline.write(pa.table({"id": [0], "land": ["FR"]}), place, partition_by="land")
    store = Overtaken(place, lambda: write_deltalake(place, OTHER, mode="append"))
    data = (
        ROWS if is_rereadable else pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches())
    )

    assert write_to(store, rows_given(data), options).version == 2

    assert store.commits == [render_commit_path(1), render_commit_path(2)]
    assert len(store.written) == len(set(store.written)) == 2
    assert sorted(store.written) == added_by(place, 2)
    assert store.deleted == []
    assert numbers(place, "id") == after


def numbered(tmp_path: Path) -> tuple[Path, Overtaken]:
    place = tmp_path / "t"
    pipeline.create(place, "number BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT, land STRING")
    return place, Overtaken(place, lambda: pipeline.write(OTHER, place))


def test_after_a_lost_race_numbers_of_identity_columns_and_their_files_are_made_anew(
    tmp_path: Path,
) -> None:
    place, store = numbered(tmp_path)
    assert write_to(store, rows_given(ROWS), WriteOptions()).version == 2
    first, second = store.written
    assert (store.deleted, added_by(place, 2)) == ([first], [second])
    assert not (place / first).exists()
    assert numbers(place, "number") == [1, 2, 3]


def test_rows_that_can_be_read_once_are_not_numbered_anew(tmp_path: Path) -> None:
    place, store = numbered(tmp_path)
    handed_out = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal handed_out
        handed_out += 1
        yield from ROWS.to_batches()

    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    with pytest.raises(ConflictError):
        write_to(store, rows_given(reader), WriteOptions())
    assert (handed_out, store.deleted) == (1, store.written)
    assert numbers(place, "number") == [1]
