"""What must be true of rows that are written to a store by each door, with whatever session; as
values that can be compared, and that another process can print."""

from __future__ import annotations

import io
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from explorer import pipeline
from explorer.cli.main import run
from explorer.errors import DeltaError
from explorer.progress import Cancel
from tests.pipeline.written_stores import FORMAT, Doors
from tests.store_proxy import Proxy, ProxyElsewhere
from tests.stores import ids_at

_AT_ONCE: Final = 3
_AT_ONCE_BY: Final = ("this process", "spark", "format")
_FEED: Final = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
_REFUSING: Final[Mapping[str, tuple[str, dict[str, str], str]]] = {
    "rows_refused": ("id BIGINT", {"delta.constraints.few": "id < 100"}, "append"),
    "schema_mismatch": ("id DATE", {}, "append"),
    "unsupported_feature": ("id BIGINT", {"delta.appendOnly": "true"}, "overwrite"),
}
"""By the kind of the error, a table whose rules rows break, and how they are written."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The doors of one session to a store with this `scheme`, behind a proxy. `texts` is what a
    person may see of it all: errors with their causes, results, plans of Spark."""

    doors: Doors
    proxy: Proxy | ProxyElsewhere
    scheme: str
    texts: list[str] = field(default_factory=list)

    def place(self) -> str:
        """Where nothing is yet."""
        return f"{self.scheme}://bucket/{uuid4().hex}"

    def parts(self) -> dict[str, Callable[[], Any]]:
        """What can be found out, by names; `EXPECTED` has the same ones."""
        return {
            **{f"written: {name}": self._later(self.written, name) for name in self._writes},
            **{f"refused: {name}": self._later(self.refused, name) for name in self._writes},
            **{f"late: {name}": self._later(self.late, name) for name in self._writes},
            **{f"at once: {name}": self._later(self.at_once, name) for name in _AT_ONCE_BY},
            **{f"nowhere: {name}": self._later(self.nowhere, name) for name in self._writes},
            "changed: this process": self._later(self.changed, "local"),
            "changed: spark": self._later(self.changed, "spark"),
            "created": self.created,
            "stopped": self.stopped,
            "streamed": self.streamed,
            "by command": self.by_command,
        }

    @property
    def _writes(self) -> Mapping[str, Any]:
        return self.doors.by_name()

    @staticmethod
    def _later(find: Callable[[str], Any], name: str) -> Callable[[], Any]:
        return lambda: find(name)

    def written(self, name: str) -> list[Any]:
        """The rows after a table was created, appended to and overwritten; and by whose storage
        options these were committed, those of the call or those of the profile."""
        uri, found, before = self.place(), list[Any](), len(self.proxy.committed)
        steps = ((range(4), "append"), (range(4, 7), "append"), (range(9, 12), "overwrite"))
        for ids, mode in steps:
            self._writes[name](ids, uri, mode)
            found.append(self._ids(uri))
        return [*found, sorted(set(self.proxy.committed[before:]))]

    def refused(self, name: str) -> list[str]:
        """What is said of rows that do not fit; empty where something changed."""
        found = []
        for schema, properties, mode in _REFUSING.values():
            uri = self.place()
            pipeline.create(uri, schema, properties=properties, storage_options=self.doors.options)
            if mode == "overwrite":
                self.doors.here(range(2), uri, "append")
            before = self._files(uri)
            said = self._said(lambda: self._writes[name](range(99, 103), uri, mode))  # noqa: B023
            found.append(said if self._files(uri) == before else "")
        return found

    def late(self, name: str) -> list[Any]:
        """A commit that the store takes after it has refused it: what is said, what is deleted,
        and the rows at last."""
        uri, write = self.place(), self._writes[name]
        self.doors.here(range(2), uri, "append")
        self.proxy.fail("late", 1)
        said = self._said(lambda: write(range(5, 8), uri, "append"))
        deleted = self.proxy.deleted
        return [self.proxy.heal(), said, deleted, self._ids(uri)]

    def at_once(self, name: str) -> bool:
        """Whether of some who write at once to a place without a table each has its rows there
        once, or says that another commit was in the way."""
        uri, gate = self.place(), threading.Barrier(_AT_ONCE)

        def one(number: int) -> tuple[str, list[int]]:
            ids = range(3 * number, 3 * number + 3)
            gate.wait()
            return self._said(lambda: self._writes[name](ids, uri, "append")), list(ids)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            told = list(pool.map(one, range(_AT_ONCE)))
        kept = sorted(number for said, ids in told if not said for number in ids)
        on_disk, known = self._files(uri)
        others = {said for said, _ in told if said}
        assert self._ids(uri) == kept, (told, self._ids(uri))
        assert on_disk == known, (told, on_disk, known)
        return bool(kept) and others <= {"ConflictError commit_conflict"}

    def changed(self, engine: Any) -> list[Any]:
        """The rows after a delete, an update and a merge, and the kinds of the changes."""
        uri, options = self.place(), self.doors.options
        how = {"engine": engine, "spark": self.doors.spark, "storage_options": options}
        pipeline.create(uri, "id BIGINT NOT NULL", properties=_FEED, storage_options=options)
        self._writes["this process"](range(6), uri, "append")
        pipeline.delete(uri, "id = 0", **how)
        pipeline.update(uri, {"id": "id + 10"}, "id = 1", **how)
        source = pa.table({"id": pa.array([2, 20], pa.int64())})
        merging = pipeline.merge(uri, source, "target.id = source.id", **how)
        merging.when_matched_delete().when_not_matched_insert_all().execute()
        said = self._said(lambda: pipeline.update(uri, {"id": "NULL"}, "id = 3", **how))
        changes = explorer.read_changes(explorer.open_table(uri, options), 2)
        return [self._ids(uri), said, sorted(changes.column("_change_type").to_pylist())]

    def created(self) -> list[str]:
        """How those end who each want to create the same table at once."""
        uri, gate = self.place(), threading.Barrier(_AT_ONCE)

        def one(_: int) -> str:
            gate.wait()
            return self._said(lambda: self.doors.create(range(3), uri))

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return sorted(pool.map(one, range(_AT_ONCE)))

    def stopped(self) -> list[Any]:
        """A write whose tasks would take minutes: what is said, whether it ends soon, and the
        files that are left of it."""
        uri, cancel, asked = self.place(), Cancel(), list[float]()
        self.doors.here(range(2), uri, "append")

        def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from batches
            time.sleep(120)

        def stop() -> None:
            asked.append(time.monotonic())
            cancel.cancel()

        frame = self.doors.frame(range(4)).mapInArrow(slowly, "id bigint")
        timer = threading.Timer(4, stop)
        timer.start()
        how: dict[str, Any] = {"storage_options": self.doors.options, "cancel": cancel}
        said = self._said(lambda: pipeline.write(frame, uri, **how))
        timer.join()
        on_disk, known = self._files(uri)
        return [said, time.monotonic() - asked[0] < 60, on_disk - known, self._ids(uri)]

    def streamed(self) -> list[list[int]]:
        """The rows of a table as the format reads them: at once, and as a stream into another."""
        source, target = self.place(), self.place()
        self.doors.here(range(5), source, "append")
        spark, named = self.doors.spark, self.doors.named
        self.doors.enter_thread()
        frame = spark.read.format(FORMAT).options(**named).load(source)
        read = frame.toArrow()
        opened = explorer.open_table(source, self.doors.options)
        ours = pipeline.read(opened.snapshot(), spark)
        with self._kept():
            for shown in (frame, ours):
                shown.explain(extended=True)
        self.texts.append(repr([opened, opened.store, opened.snapshot()]))
        stream = spark.readStream.format(FORMAT).options(**named).load(source)
        self.doors.run(stream, target, "append")
        return [sorted(read.column("id").to_pylist()), self._ids(target)]

    def nowhere(self, name: str) -> bool:
        """Whether it is an error of ours where there is no such bucket."""
        write = self._writes[name]
        return self._said(lambda: write(range(3), f"{self.scheme}://nosuch/t", "append")) != ""

    def by_command(self) -> int:
        """How the command ends that appends a file."""
        uri, file = self.place(), self.doors.scratch / f"{uuid4().hex}.parquet"
        self.doors.here(range(2), uri, "append")
        pq.write_table(pa.table({"id": [2]}), file)
        words = ["write", uri, str(file)]
        for name, value in (self.doors.options or {}).items():
            words += ["--option", f"{name}={value}"]
        with self._kept():
            return run(words)

    def _said(self, work: Callable[[], object]) -> str:
        """The class and the kind of the error, nothing where there is none."""
        try:
            self.texts.append(repr(work()))
        except DeltaError as error:
            self.texts.append(traceback.format_exc())
            return f"{type(error).__name__} {error.kind}"
        return ""

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """What is printed meanwhile is one of the texts."""
        sink = io.StringIO()
        with redirect_stdout(sink), redirect_stderr(sink):
            yield
        self.texts.append(sink.getvalue())

    def _ids(self, uri: str) -> list[int]:
        return ids_at(uri, self.doors.options)

    def _files(self, uri: str) -> tuple[int, int]:
        """How many data files there are, and how many of them a version added."""
        table = explorer.open_table(uri, self.doors.options)
        added = {
            path
            for version in range(table.latest_version() + 1)
            for path in table.snapshot(version=version).files(["path"])["path"].to_pylist()
        }
        return sum(name.endswith(".parquet") for name in table.store.list_names("")), len(added)


_REFUSALS: Final = [
    "InvalidArgumentError rows_refused",
    "InvalidArgumentError schema_mismatch",
    "UnsupportedError unsupported_feature",
]
_CHANGED: Final = [
    [3, 4, 5, 11, 20],
    "InvalidArgumentError rows_refused",
    ["delete", "delete", "insert", "update_postimage", "update_preimage"],
]
_DOORS: Final = {
    "this process": "options",
    "spark": "options",
    "format": "profile",
    "stream": "profile",
}
"""By whose storage options each commits."""
_ROWS: Final = [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6], [9, 10, 11]]
EXPECTED: Final[dict[str, Any]] = {
    **{f"written: {name}": [*_ROWS, [way]] for name, way in _DOORS.items()},
    **{f"refused: {name}": _REFUSALS for name in _DOORS},
    **{
        f"late: {name}": [True, "StorageError outcome_unknown", [], [0, 1, 5, 6, 7]]
        for name in _DOORS
    },
    **{f"at once: {name}": True for name in _AT_ONCE_BY},
    **{f"nowhere: {name}": True for name in _DOORS},
    "changed: this process": _CHANGED,
    "changed: spark": _CHANGED,
    "created": ["", *["InvalidArgumentError already_exists"] * (_AT_ONCE - 1)],
    "stopped": ["CancelledError cancelled", True, 0, [0, 1]],
    "streamed": [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]],
    "by command": 0,
}
