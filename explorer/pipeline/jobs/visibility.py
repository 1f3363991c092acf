"""Whether the workers of a session see a table that this process sees."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import pyarrow as pa

from explorer.errors import DeltaError, UnsupportedError
from explorer.log.actions.columns import bool_column
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.session import is_local, parallelism
from explorer.storage.local import LocalStore
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = "_delta_log"
_MOST_PROBES: Final = 16

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
        answers = _ask_workers(spark, store)
    if not all(answers):
        raise UnsupportedError(
            f"The workers of Spark do not find the table at {store.uri}.",
            reason="This process sees it, and they do not: they are other processes, perhaps on "
            "other machines, and are not given this one's files.",
            remedy="Put the table where the workers find it under the same address, or use a "
            "local session.",
            kind="store_unsupported",
        )
    with _lock:
        _seen.setdefault(spark, set()).add(store.uri)


def _ask_workers(spark: SparkSession, store: ReadStore) -> list[bool]:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                found = store.has_folder(_LOG)
            except DeltaError:
                found = False
            yield pa.RecordBatch.from_arrays([bool_column([found])], ["found"])

    probes = min(parallelism(spark), _MOST_PROBES)
    rows = spark.range(0, probes, 1, probes).mapInArrow(look, "found boolean").collect()
    return [bool(row[0]) for row in rows]
