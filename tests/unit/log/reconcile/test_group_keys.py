"""The keys of a checkpoint's rows are those of `file_key`, however few of them are held."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from explorer.log.actions.columns import DELETION_VECTOR
from explorer.log.actions.keys import file_key
from explorer.log.reconcile.key_columns import keys_of_rows
from explorer.log.state.file_columns import FileColumns

_PATHS = ("a", "b", "/c", "file:///c", "file:/d", "é")


def _rows(source: random.Random, count: int) -> list[tuple[str | None, dict[str, object] | None]]:
    def vector() -> dict[str, object] | None:
        if source.random() < 0.6:
            return None
        place = {"storageType": source.choice("ui"), "pathOrInlineDv": source.choice("xy")}
        return place | ({"offset": source.choice((0, 1))} if source.random() < 0.5 else {})

    rows = [(source.choice(_PATHS), vector()) for _ in range(count)]
    return [(None, None) if source.random() < 0.2 else row for row in rows]


def _table(name: str, values: pa.Array, pieces: int) -> pa.Table:
    size = max(1, len(values) // pieces)
    chunks = [values.slice(start, size) for start in range(0, len(values), size)]
    return pa.table({name: pa.chunked_array(chunks, values.type)})


def _vectors(rows: list[tuple[str | None, dict[str, object] | None]]) -> pa.Array:
    fields = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
    stored = [vector and [vector.get(field) for field in fields] for _, vector in rows]
    names = [field.name for field in DELETION_VECTOR]
    return pa.array(
        [values and dict(zip(names, values, strict=True)) for values in stored], DELETION_VECTOR
    )


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_found_by_the_keys_that_single_actions_have(seed: int) -> None:
    source = random.Random(seed)
    rows = _rows(source, source.choice((1, 7, 60)))
    expected = [path and file_key(path, vector) for path, vector in rows]
    paths = _table("path", pa.array([path for path, _ in rows], pa.string()), source.choice((1, 3)))
    vectors = _table("deletion_vector", _vectors(rows), 1)
    keys = keys_of_rows(paths, vectors)
    assert keys.column.to_pylist() == expected

    # of keys that are there, of plain paths that only stand beside a vector, and of others
    everything = [*{key for key in expected if key}, *_PATHS, "nowhere"]
    some = source.sample(everything, source.randint(1, len(everything)))
    wanted = pa.chunked_array([some], pa.string())
    hits = [key in some for key in expected]
    assert keys.among(wanted).to_pylist() == hits
    kept = [source.random() < 0.5 for _ in rows]
    found = keys.among_others(wanted, pa.chunked_array([kept], pa.bool_()))
    assert found.to_pylist() == [hit and not keep for hit, keep in zip(hits, kept, strict=True)]


@pytest.mark.parametrize("gone", [[], [0], [4095], [0, 1, 2047], list(range(2000)), [7, 4090]])
def test_values_that_stay_are_the_same_however_few_go(gone: list[int]) -> None:
    values = pa.chunked_array([range(4096), range(9)], pa.int64())
    flags = [at not in gone for at in range(len(values))]
    mask = pa.chunked_array([flags], pa.bool_())
    table = pa.table({"path": values, "more": pc.cast(values, pa.string())})
    found = FileColumns(table=table, leaves={("size",): values}).only(mask)
    assert found.table.equals(table.filter(mask))
    assert found.leaves["size",].equals(values.filter(mask))
