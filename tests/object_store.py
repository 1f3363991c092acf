"""An object store that counts what it is asked, for tests and benchmarks.

    bucket = Bucket(latency=0.05)
    bucket.upload(folder, "t")
    table = open_counted(bucket)    # explorer.open_table("counted://t", bucket.options)
    table.snapshot()
    bucket.counts()             # {"list": 2, "head": 1, "get": 3, "range": 4}

Its requests are those that fsspec's implementation for S3 makes: a listing comes in
pages of 1,000 keys, one after the other; `info` of a folder is a HEAD in vain and a
page of one key; a range that begins at or after the end of its object is refused.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any, Literal

import fsspec
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

import explorer

PAGE = 1000
Kind = Literal["list", "head", "get", "range"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: `key` is the object, or the prefix of a listing; `start` and `end` are the
    bytes of a range; `began` and `ended` are seconds of a monotonic clock."""

    kind: Kind
    key: str
    start: int | None = None
    end: int | None = None
    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    data: bytes
    modified: datetime
    tag: str


class Bucket:
    """The objects and the requests for them; each takes `latency` seconds."""

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        self.requests: list[Request] = []
        self.most_at_once = 0
        self.bytes_sent = 0
        self._objects: dict[str, _Stored] = {}
        self._now = 0
        self._lock = threading.Lock()
        self._meeting: tuple[threading.Barrier, Callable[[Request], bool]] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The storage options with which a table in it is opened."""
        fsspec.register_implementation("counted", CountedFileSystem, clobber=True)
        return {"bucket": self}

    def put(self, key: str, data: bytes, modified_ms: int | None = None) -> None:
        """Store an object."""
        stamp = 1_700_000_000_000 if modified_ms is None else modified_ms
        self._objects[key] = _Stored(
            data=data,
            modified=datetime.fromtimestamp(stamp / 1000, tz=UTC),
            tag=f'"{md5(data, usedforsecurity=False).hexdigest()}"',
        )

    def upload(self, folder: Path, root: str) -> None:
        """Store the files below `folder`, with their times."""
        for place in folder.rglob("*"):
            if place.is_file():
                key = f"{root}/{place.relative_to(folder).as_posix()}"
                self.put(key, place.read_bytes(), place.stat().st_mtime_ns // 1_000_000)

    def delete(self, key: str) -> None:
        """Remove an object."""
        del self._objects[key]

    def size(self, key: str) -> int:
        """The bytes of an object, without a request."""
        return len(self._held(key).data)

    def counts(self, part: str = "") -> dict[str, int]:
        """How many requests of each kind there were for keys that hold `part`."""
        return dict(Counter(found.kind for found in self.requests if part in found.key))

    def forget(self) -> None:
        """Begin to count anew."""
        self.requests, self.most_at_once, self.bytes_sent = [], 0, 0

    @property
    def rounds(self) -> int:
        """The most requests that waited for each other: what the latency is paid for."""
        ends: list[float] = []
        for found in sorted(self.requests, key=lambda request: request.ended):
            if not ends or found.began >= ends[-1]:
                ends.append(found.ended)
        return len(ends)

    @contextmanager
    def meeting(self, number: int, among: Callable[[Request], bool]) -> Iterator[None]:
        """Answer no request of `among` before `number` of them are under way at once; one
        that waits for the others in vain fails."""
        self._meeting = threading.Barrier(number, timeout=20), among
        try:
            yield
        finally:
            self._meeting = None

    @contextmanager
    def request(self, kind: Kind, key: str, start: int | None, end: int | None) -> Iterator[None]:
        """Count and delay what happens inside."""
        made = Request(kind=kind, key=key, start=start, end=end)
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        began = time.monotonic()
        try:
            if self._meeting is not None and self._meeting[1](made):
                self._meeting[0].wait()
            if self.latency:
                time.sleep(self.latency)
            yield
        finally:
            with self._lock:
                self._now -= 1
                self.requests.append(
                    Request(
                        kind=kind,
                        key=key,
                        start=start,
                        end=end,
                        began=began,
                        ended=time.monotonic(),
                    )
                )

    def get(self, key: str, start: int | None, end: int | None) -> bytes:
        """An object, or a range of it."""
        whole = start is None and end is None
        with self.request("get" if whole else "range", key, start, end):
            data = self._held(key).data
            if not whole and (start or 0) >= len(data):
                raise OSError("the requested range is not satisfiable")
            found = data[start:end]
            with self._lock:
                self.bytes_sent += len(found)
            return found

    def head(self, key: str) -> dict[str, Any]:
        """What is known of an object."""
        with self.request("head", key, None, None):
            return self._info(key)

    def list_keys(self, prefix: str, limit: int | None = None) -> list[dict[str, Any]]:
        """What is known of the objects whose keys begin with `prefix`."""
        keys = sorted(key for key in self._objects if key.startswith(prefix))[:limit]
        for _ in range(max(1, -(-len(keys) // PAGE))):
            with self.request("list", prefix, None, None):
                pass
        return [self._info(key) for key in keys]

    def _held(self, key: str) -> _Stored:
        if (found := self._objects.get(key)) is None:
            raise FileNotFoundError(key)
        return found

    def _info(self, key: str) -> dict[str, Any]:
        found = self._held(key)
        return {
            "name": key,
            "type": "file",
            "size": len(found.data),
            "LastModified": found.modified,
            "ETag": found.tag,
        }


def open_counted(bucket: Bucket) -> explorer.Table:
    """The table that was uploaded as `t`."""
    return explorer.open_table("counted://t", bucket.options)


def counts_of(bucket: Bucket, work: Callable[[], Any]) -> dict[str, int]:
    """The counts of `work` alone."""
    bucket.forget()
    work()
    return bucket.counts()


def reads_of(part: str) -> Callable[[Request], bool]:
    """Those requests that bring bytes of objects whose keys hold `part`."""
    return lambda asked: part in asked.key and asked.kind in {"get", "range"}


class CountedFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec ships no types
    """The `Bucket` of the storage options, as fsspec shows a store."""

    protocol = "counted"
    root_marker = ""

    def __init__(self, bucket: Bucket, **options: Any) -> None:
        super().__init__(**options)
        self._bucket = bucket

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        """An object, else the folder of that name."""
        key = self._strip_protocol(path)
        try:
            return self._bucket.head(key)
        except FileNotFoundError:
            if not self._bucket.list_keys(f"{key}/", 1):
                raise
            return {"name": key, "type": "directory", "size": 0}

    def ls(self, path: str, detail: bool = True, **_options: Any) -> list[Any]:
        """What lies directly in a folder."""
        folder = f"{self._strip_protocol(path)}/"
        entries: dict[str, dict[str, Any]] = {}
        # unlike the real one this pays for what lies in folders below, of which there is little
        for found in self._bucket.list_keys(folder):
            name, below, _ = found["name"][len(folder) :].partition("/")
            key = f"{folder}{name}"
            entries[key] = {"name": key, "type": "directory", "size": 0} if below else found
        if not entries:
            raise FileNotFoundError(path)
        return list(entries.values()) if detail else list(entries)

    def find(self, path: str, *, detail: bool = False, prefix: str = "", **_options: Any) -> Any:
        """The objects below a folder whose names begin with `prefix`."""
        found = self._bucket.list_keys(f"{self._strip_protocol(path)}/{prefix}")
        entries = {entry["name"]: entry for entry in found}
        return entries if detail else list(entries)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_options: Any
    ) -> bytes:
        """An object, or a range of it."""
        return self._bucket.get(self._strip_protocol(path), start, end)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> _CountedFile:
        options.pop("block_size", None)
        return _CountedFile(self, path, mode, **options)


class _CountedFile(AbstractBufferedFile):  # type: ignore[misc]  # fsspec ships no types
    """A file of fsspec, with its read-ahead."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        data: bytes = self.fs.cat_file(self.path, start=start, end=end)
        return data
