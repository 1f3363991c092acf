"""A store on the local disk one of whose operations goes wrong, in every way that is known of
stores: it fails, its answer is lost, it is done twice or later than it was asked for, or it
ends half-way."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal
from weakref import WeakValueDictionary

from explorer.errors import StorageError
from explorer.storage.local import LocalStore
from explorer.storage.ports import PutOutcome

Fault = Literal["before", "after", "twice", "late", "torn", "full"]
"""`before`: it fails, and nothing was done. `after`: it was done, and its answer is lost.
`twice`: the client sent it again, and tells what the second one was answered. `late`: it
fails, and takes effect when the next operation was done. `torn`: it ends half-way, as when the
machine that wrote was lost; what readers ignore is left. `full`: the disk has no room for the
second half of what is written, and for nothing more where it stays `down`; files can be deleted."""

CHANGING: tuple[Fault, ...] = ("after", "twice", "late", "torn")
"""What can go wrong only with an operation that changes something."""

TORN = f".tmp-{'0' * 32}"
"""The name of what is left where an operation ended half-way."""


class InjectedError(StorageError):
    """What a failing store says."""


def _failure() -> InjectedError:
    return InjectedError("The store failed.", reason="A test made it.", remedy="None.")


def _too_much(data: bytes) -> Iterator[bytes]:
    """The first half, and then no room."""
    yield data[: len(data) // 2]
    raise _no_room()


class _Full:
    """A file on a disk that is full after its first bytes."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write(self, data: Any) -> int:
        if self._sink.tell():
            raise _no_room()
        return int(self._sink.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)


def _no_room() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FaultyStore(LocalStore):
    """A local store whose operation number `fail_at` goes wrong as `when` says. Every later
    one fails too where it stays `down`."""

    def __init__(
        self,
        root: str,
        fail_at: int | None = None,
        *,
        when: Fault = "before",
        down: bool = False,
    ) -> None:
        super().__init__(root)
        self.fail_at, self.when, self.down = fail_at, when, down
        self.operations: list[str] = []
        self._late: Callable[[], Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Within this process it is the same one, with what it was asked already."""
        _HERE[id(self)] = self
        return _again, (os.getpid(), id(self), type(self), self.__dict__ | {"_late": None})

    def settle(self) -> None:
        """Whatever was still under way takes effect."""
        late, self._late = self._late, None
        if late is not None:
            late()

    def _begin(self, what: str) -> Fault | None:
        number = len(self.operations)
        self.operations.append(what)
        if self.down and self.fail_at is not None and number > self.fail_at:
            if self.when == "full":
                return "full"
            raise _failure()
        return self.when if number == self.fail_at else None

    @contextmanager
    def _looking(self, what: str) -> Iterator[None]:
        fault = self._begin(what)
        if fault is not None and fault != "full":
            raise _failure()
        yield
        self.settle()

    def _change(
        self,
        what: str,
        path: str,
        change: Callable[[], Any],
        overflow: Callable[[], Any] | None = None,
    ) -> Any:
        fault = self._begin(what)
        if fault == "full" and overflow is not None:
            return overflow()
        if fault == "torn":
            self._leave_half(path)
        if fault == "late":
            self._late = change
        if fault in {"before", "torn", "late"}:
            raise _failure()
        if fault == "twice":
            change()
        answer = change()
        if fault == "after":
            raise _failure()
        if fault is None:
            self.settle()
        return answer

    def _leave_half(self, path: str) -> None:
        folder = os.path.join(self.uri, os.path.dirname(path))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, TORN), "wb") as torn:
            torn.write(b"half")

    def put_if_absent(self, path: str, data: Any) -> PutOutcome:
        whole = data if isinstance(data, bytes) else b"".join(data)
        put = super().put_if_absent
        found: PutOutcome = self._change(
            f"put {path}", path, lambda: put(path, whole), lambda: put(path, _too_much(whole))
        )
        return found

    def write(self, path: str, data: Any) -> None:
        write: Any = super().write
        self._change(
            f"write {path}", path, lambda: write(path, data), lambda: write(path, _too_much(data))
        )

    @contextmanager
    def open_output(self, path: str) -> Iterator[Any]:
        fault = self._begin(f"output {path}")
        if fault == "before":
            raise _failure()
        with super().open_output(path) as sink:
            yield _Full(sink) if fault == "full" else sink
            if fault in {"torn", "late"}:  # it is not there before it is whole
                raise _failure()
        if fault == "after":
            raise _failure()

    def delete(self, path: str) -> None:
        delete = super().delete
        self._change(f"delete {path}", path, lambda: delete(path))

    def read(self, path: str, limit: int | None = None) -> bytes:
        with self._looking(f"read {path}"):
            return super().read(path, limit)

    def stat(self, path: str) -> Any:
        with self._looking(f"stat {path}"):
            return super().stat(path)

    def list_names(self, folder: str) -> list[str]:
        with self._looking(f"list {folder}"):
            return super().list_names(folder)

    def list_folder(self, folder: str) -> list[Any]:
        with self._looking(f"list {folder}"):
            return super().list_folder(folder)

    def list_pieces(self, folder: str) -> Iterator[Any]:
        with self._looking(f"list {folder}"):
            yield from super().list_pieces(folder)

    def stat_many(self, paths: Sequence[str]) -> list[tuple[int, int] | None]:
        with self._looking("stat many"):
            return super().stat_many(paths)

    def open_input(self, path: str) -> Any:
        with self._looking(f"open {path}"):
            return super().open_input(path)


class KilledStore(FaultyStore):
    """From operation number `fail_at` on nothing is done any more: the process is gone."""

    class Killed(BaseException):
        """Not an error: nothing may catch it."""

    def _begin(self, what: str) -> Fault | None:
        if self.fail_at is not None and len(self.operations) >= self.fail_at:
            raise self.Killed
        return super()._begin(what)


_HERE: WeakValueDictionary[int, FaultyStore] = WeakValueDictionary()


def _again(process: int, number: int, kind: type[FaultyStore], held: dict[str, Any]) -> FaultyStore:
    if process == os.getpid() and number in _HERE:
        return _HERE[number]
    found = kind.__new__(kind)
    found.__dict__.update(held)
    return found


def is_change(operation: str) -> bool:
    """Whether an operation of the store changes anything."""
    return operation.split(maxsplit=1)[0] in {"put", "write", "delete", "output"}
