"""Whether the workers of a session see a table that this process sees."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import pyarrow as pa

from explorer.errors import DeltaError, UnsupportedError
from explorer.log.actions.columns import bool_column
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.session import is_local, parallelism
from explorer.storage.local import LocalStore
from explorer.storage.ports import ReadStore, WriteStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = "_delta_log"
_MOST_PROBES: Final = 16
_TEXT: Final = b"Spark's workers are asked whether they see this file.\n"

_seen: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()
_lock = threading.Lock()


def check_visible(spark: SparkSession, store: ReadStore) -> None:
    """Raise `UnsupportedError` (`store_unsupported`) where workers do not find the table.

    They are asked once for each session and table; those of a local session see the
    folders of this machine, and are not asked.
    """
    if is_local(spark) and isinstance(store, LocalStore):
        return
    with _lock:
        if store.uri in _seen.get(spark, ()):
            return
    with clear_errors(f"Looking for {store.uri} from the workers of Spark"):
        answers = _ask_workers(spark, lambda: store.has_folder(_LOG))
    if not all(answers):
        raise _unseen(store)
    with _lock:
        _seen.setdefault(spark, set()).add(store.uri)


def check_visible_place(spark: SparkSession, store: WriteStore) -> None:
    """Raise `UnsupportedError` (`store_unsupported`) where workers do not find a place that has
    no table yet: what they write there would be nowhere for this process.

    A file is put there for a moment, and they are asked for it.
    """
    if is_local(spark) and isinstance(store, LocalStore):
        return
    name = f"look-{uuid.uuid4()}.txt"  # a vacuum takes it where it stays behind
    store.write(name, _TEXT)
    try:
        with clear_errors(f"Looking for {store.uri} from the workers of Spark"):
            answers = _ask_workers(spark, lambda: store.stat(name).size == len(_TEXT))
    finally:
        with contextlib.suppress(DeltaError):
            store.delete(name)
    if not all(answers):
        raise _unseen(store)


def _unseen(store: ReadStore) -> UnsupportedError:
    return UnsupportedError(
        f"The workers of Spark do not find the table at {store.uri}.",
        reason="This process sees its place, and they do not: they are other processes, perhaps "
        "on other machines, and are not given this one's files.",
        remedy="Put the table where the workers find it under the same address, or use a "
        "local session.",
        kind="store_unsupported",
    )


def _ask_workers(spark: SparkSession, sees: Callable[[], bool]) -> list[bool]:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                found = sees()
            except DeltaError:
                found = False
            yield pa.RecordBatch.from_arrays([bool_column([found])], ["found"])

    probes = min(parallelism(spark), _MOST_PROBES)
    rows = spark.range(0, probes, 1, probes).mapInArrow(look, "found boolean").collect()
    return [bool(row[0]) for row in rows]
