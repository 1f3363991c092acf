"""Stores that answer the request which creates a commit with an error, though it was carried out,
or will be: by each door that writes, on each store. Where nobody can know what became of it the
outcome is unknown and nothing is deleted; else the rows are there, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pytest

from explorer import pipeline
from explorer.errors import DeltaError
from explorer.pipeline.source import _batch_writer
from explorer.storage.open import open_write_store
from explorer.writing.statements.options import WriteOptions
from tests.faults.written_place import DOORS
from tests.sampling import SEED, sample
from tests.store_proxy import FAULTS, UNKNOWN, Fault
from tests.stores import SERVERS, Store, ids_at, running

OLD = pa.table({"id": [1, 2, 3], "land": ["DE", "FR", "DE"]})
ONCE = ("nightly load", 7)


@dataclass(frozen=True)
class Door:
    """A statement that makes version 1, and the ids afterwards."""

    run: Callable[[str, Mapping[str, Any]], object]
    after: tuple[int, ...]
    properties: Mapping[str, str]


def _writes(name: str) -> Door:
    def run(uri: str, options: Mapping[str, Any]) -> object:
        return DOORS[name](open_write_store(uri, options), WriteOptions(transaction=ONCE))

    return Door(run, (1, 2, 3, 10, 11, 12), {})


def _merge(uri: str, options: Mapping[str, Any]) -> object:
    source = pa.table({"id": [2, 20], "land": ["IT", "IT"]})
    merging = pipeline.merge(
        uri,
        source,
        "target.id = source.id",
        engine="local",
        storage_options=options,
        transaction=ONCE,
    )
    return merging.when_matched_delete().when_not_matched_insert_all().execute()


_HERE: Final[dict[str, Any]] = {"engine": "local", "transaction": ONCE}
_VECTORS: Final = {"delta.enableDeletionVectors": "true"}
_STATEMENTS: Final[dict[str, Door]] = {
    **{name: _writes(name) for name in DOORS},
    "delete": Door(
        lambda uri, options: pipeline.delete(uri, "id = 2", storage_options=options, **_HERE),
        (1, 3),
        _VECTORS,
    ),
    "update": Door(
        lambda uri, options: pipeline.update(
            uri, {"id": "id + 5"}, "id = 2", storage_options=options, **_HERE
        ),
        (1, 3, 7),
        {},
    ),
    "merge": Door(_merge, (1, 3, 20), {}),
}
_CASES = [(name, fault) for name in _STATEMENTS for fault in FAULTS]


@pytest.fixture(scope="module", params=sample(SERVERS, 3, "stores that answer wrongly"))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with running(request.param) as found:
        yield found


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes on here that Spark would have to end."""
    monkeypatch.setattr(_batch_writer, "LONGEST_END", 0)


@pytest.mark.parametrize(("name", "fault"), sample(_CASES, 6, "answers", SEED // 3))
def test_a_commit_whose_answer_is_wrong_is_there_once_or_nobody_knows_and_nothing_is_deleted(
    store: Store, name: str, fault: Fault
) -> None:
    door, uri = _STATEMENTS[name], store.place()
    pipeline.write(OLD, uri, properties=door.properties, storage_options=store.options)
    store.proxy.fail(fault, 1)
    outcome: object = None
    try:
        door.run(uri, store.options)
    except DeltaError as error:
        outcome = error.kind
    assert store.proxy.heal()
    if fault in UNKNOWN:
        assert (outcome, store.proxy.deleted) == ("outcome_unknown", [])
    else:
        assert outcome is None
    expected = (1, 2, 3) if fault == "never" else door.after
    assert ids_at(uri, store.options) == list(expected)
    # who repeats it does so once
    door.run(uri, store.options)
    assert ids_at(uri, store.options) == list(door.after)
