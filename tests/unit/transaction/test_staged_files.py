"""Files in columns as the lines of a commit: the same as one by one."""

from __future__ import annotations

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import batch_of
from explorer.transaction.staged_files import complete, render_batch

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
WHOLE = st.integers(0, 2**62)
MAPS = st.dictionaries(TEXT, st.none() | TEXT, max_size=3)
VECTORS = st.fixed_dictionaries(
    {
        "storageType": st.sampled_from("uip"),
        "pathOrInlineDv": TEXT,
        "sizeInBytes": st.integers(0, 2**30),
        "cardinality": WHOLE,
    },
    optional={"offset": st.integers(0, 2**30)},
)
SHARED = {
    "stats": TEXT,
    "tags": MAPS,
    "deletionVector": VECTORS,
    "baseRowId": WHOLE,
    "defaultRowCommitVersion": WHOLE,
}
ADDS = st.fixed_dictionaries(
    {
        "path": TEXT,
        "partitionValues": MAPS,
        "size": WHOLE,
        "modificationTime": WHOLE,
        "dataChange": st.booleans(),
    },
    optional=SHARED | {"clusteringProvider": TEXT},
)
REMOVES = st.fixed_dictionaries(
    {"path": TEXT, "deletionTimestamp": WHOLE, "dataChange": st.booleans()},
    optional=SHARED | {"partitionValues": MAPS, "size": WHOLE},
)


def lines(kind: str, batch: pa.RecordBatch) -> list[dict]:
    data = b"".join(render_batch(kind, complete(kind, batch)))  # type: ignore[arg-type]
    assert data.endswith(b"\n") or not data
    return [orjson.loads(line)[kind] for line in data.split(b"\n")[:-1]]


@pytest.mark.slow
@given(st.lists(ADDS, max_size=6), st.integers(0, 3))
def test_adds_come_back_as_they_were(bodies: list[dict], skipped: int) -> None:
    batch = batch_of("add", bodies).slice(skipped)
    assert lines("add", batch) == bodies[skipped:]


@pytest.mark.slow
@given(st.lists(REMOVES, max_size=6))
def test_removes_come_back_and_say_whether_they_are_extended(bodies: list[dict]) -> None:
    expected = [
        body | {"extendedFileMetadata": "partitionValues" in body and "size" in body}
        for body in bodies
    ]
    assert lines("remove", batch_of("remove", bodies)) == expected


def test_every_control_character_is_escaped() -> None:
    text = "".join(map(chr, range(0x80))) + "\u2028🦀"
    body = {"path": text, "partitionValues": {text: text}, "size": 1, "modificationTime": 2}
    (found,) = lines("add", batch_of("add", [body]))
    assert found == body | {"dataChange": True}


def test_many_files_are_rendered_a_few_thousand_at_a_time() -> None:
    body = {"path": "p", "partitionValues": {}, "size": 1, "modificationTime": 2}
    pieces = list(render_batch("add", complete("add", batch_of("add", [body] * 10_000))))
    assert [piece.count(b"\n") for piece in pieces] == [4096, 4096, 1808]


@pytest.mark.slow
def test_long_texts_make_fewer_lines_at_a_time() -> None:
    body = {"path": "p", "partitionValues": {}, "size": 1, "stats": "x" * 2**20}
    pieces = list(render_batch("add", complete("add", batch_of("add", [body] * 200))))
    assert max(map(len, pieces)) < 2**27
    assert sum(piece.count(b"\n") for piece in pieces) == 200


def test_columns_that_are_left_out_hold_nothing() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(["a"])], names=["path"])
    assert lines("add", batch) == [{"path": "a", "dataChange": True}]


@pytest.mark.parametrize(
    "batch",
    [
        pa.RecordBatch.from_arrays([pa.array(["a"])], names=["file"]),
        pa.RecordBatch.from_arrays([pa.array([1])], names=["path"]),
    ],
    ids=["unknown", "another type"],
)
def test_a_column_that_does_not_fit_is_refused(batch: pa.RecordBatch) -> None:
    with pytest.raises(InvalidArgumentError):
        complete("add", batch)
