"""Participants of one table that take turns, one operation of the store at a time.

Everything lies in memory, under a clock of its own. Each participant stops before every
operation of its store, until the schedule gives it the next turn; so one runs at any time, and
a seed is a schedule. A participant may be killed before any of its
operations, and any operation may fail before or after it had its effect.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, Protocol

import pyarrow as pa

from explorer.errors import NotFoundError, StorageError
from explorer.storage.ports import Content, ObjectInfo, PutOutcome
from explorer.storage.tree import FolderPiece
from tests.faults.schedules_strands import Crew

NOW_MS = 1_780_000_000_000
DAY_MS = 86_400_000
URI = "/lake/orders"
_MORE_RISK = 10

Fault = Literal["before", "after"]
"""`before`: it fails and does nothing. `after`: it is done, and its answer is lost."""


@dataclass
class Disk:
    """What is stored, by path: bytes and modification time in milliseconds. `created` has
    every object that was ever put where none was, in order, though it may be gone; `deleted`
    says what went, by whom and when."""

    clock_ms: int = NOW_MS
    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    created: list[tuple[str, bytes, int]] = field(default_factory=list)
    deleted: list[tuple[str, str, int]] = field(default_factory=list)
    _listed: dict[str, list[ObjectInfo]] = field(default_factory=dict)

    def put(self, path: str, data: bytes) -> None:
        """Create or replace an object."""
        self.files[path] = (data, self.clock_ms)
        self._listed.clear()

    def drop(self, path: str) -> bool:
        """Remove an object; whether it was there."""
        self._listed.clear()
        return self.files.pop(path, None) is not None

    def list_below(self, folder: str) -> list[ObjectInfo]:
        """All objects below a folder, by their paths in it, sorted; worked out once until
        something changes."""
        if folder not in self._listed:
            start = f"{folder}/" if folder else ""
            found = [
                ObjectInfo(name=path[len(start) :], size=len(data), modified_ms=time)
                for path, (data, time) in self.files.items()
                if path.startswith(start)
            ]
            self._listed[folder] = sorted(found, key=lambda info: info.name)
        return self._listed[folder]

    def clock(self) -> int:
        """The time."""
        return self.clock_ms

    def copy(self) -> Disk:
        """The same, to go on from."""
        return Disk(self.clock_ms, dict(self.files), list(self.created), list(self.deleted))


class Killed(BaseException):  # not an error: nothing may catch it
    """Ends a participant that was killed, once nobody can see it any more."""


class Participant:
    """A piece of work of its own, which `step` lets run up to its next operation."""

    def __init__(
        self, name: str, disk: Disk, work: Callable[[Store], None], chance: random.Random
    ) -> None:
        self.name = name
        self.fault: Fault | None = None
        self.is_killed = False
        self.operations = 0
        self.faults = 0
        self.error: BaseException | None = None
        self._work = work
        self._store = Store(disk, self.turn, name)
        self._crew = Crew(chance)

    def start(self) -> None:
        """Run up to the first operation."""
        self._crew.add(self._run)
        self._crew.go_on()

    def step(self) -> None:
        """Do the operation that is due, and run up to the next one."""
        self._crew.go_on()

    def end_killed(self) -> None:
        """Let a killed participant end; its store does nothing any more."""
        while not self.has_ended:
            self._crew.go_on()

    @property
    def has_ended(self) -> bool:
        """Whether no operation is due."""
        return self._crew.due is None

    @property
    def changes_next(self) -> bool:
        """Whether the operation that is due changes something."""
        return self._crew.due is not None and self._crew.due.changes

    def turn(self, *, changes: bool) -> Fault | None:
        """Wait for the turn before an operation, which may be one that `changes` something;
        what is to go wrong with it."""
        if not self.is_killed:
            self._crew.stop(changes=changes)
        if self.is_killed:
            raise Killed
        fault, self.fault = self.fault, None
        self.operations += 1
        self.faults += fault is not None
        return fault

    def _run(self) -> None:
        try:
            self._work(self._store)
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001  # told by who looks at it
            self.error = error


class Turn(Protocol):
    """What is asked before each operation."""

    def __call__(self, *, changes: bool) -> Fault | None:
        """What is to go wrong with it."""


def _at_once(*, changes: bool) -> Fault | None:
    """The turn of who is alone."""
    del changes
    return None


class Store:
    """A store in memory that asks for its turn before each operation."""

    def __init__(self, disk: Disk, turn: Turn = _at_once, owner: str = "nobody") -> None:
        self._disk = disk
        self._turn = turn
        self._owner = owner

    @property
    def uri(self) -> str:
        """Where no folder is."""
        return URI

    def has_folder(self, folder: str) -> bool:
        """Whether anything lies there."""
        self._before(folder)
        return bool(self._disk.list_below(folder))

    def list_names(self, folder: str) -> list[str]:
        """Names directly inside."""
        return [info.name for info in self.list_folder(folder)]

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        """Objects directly inside, sorted."""
        self._before(folder)
        below = self._disk.list_below(folder)
        if not below:
            raise _missing(folder)
        return [info for info in below if "/" not in info.name]

    def list_pieces(self, folder: str) -> Iterator[FolderPiece]:
        """What lies directly in it, folders too."""
        self._before(folder)
        inside = [info.name for info in self._disk.list_below(folder)]
        folders = {name.partition("/")[0] for name in inside if "/" in name}
        files = [name for name in inside if "/" not in name]
        yield FolderPiece(folder=folder, folders=sorted(folders), files=sorted(files), others=())

    def stat_many(self, paths: Sequence[str]) -> list[tuple[int, int] | None]:
        """Size and time of each."""
        self._before("many files")
        found = (self._disk.files.get(path) for path in paths)
        return [held and (len(held[0]), held[1]) for held in found]

    def stat(self, path: str) -> ObjectInfo:
        """Size and time."""
        self._before(path)
        data, time = self._held(path)
        return ObjectInfo(name=path.rpartition("/")[2], size=len(data), modified_ms=time)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """All of it, or its first bytes."""
        self._before(path)
        return self._held(path)[0][:limit]

    def read_many(self, paths: Iterable[str], limit: int | None = None) -> Iterator[bytes]:
        """One after the other."""
        return (self.read(path, limit) for path in paths)

    def open_input(self, path: str) -> pa.NativeFile:
        """All of it, as it is now."""
        self._before(path)
        return pa.BufferReader(self._held(path)[0])

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        """Create it where none is."""
        whole = data if isinstance(data, bytes) else b"".join(data)
        fault = self._turn(changes=True)
        if fault == "before":
            return PutOutcome.UNKNOWN
        if path in self._disk.files:
            outcome = PutOutcome.ALREADY_THERE
        else:
            self._disk.put(path, whole)
            self._disk.created.append((path, whole, self._disk.clock_ms))
            outcome = PutOutcome.CREATED
        return PutOutcome.UNKNOWN if fault == "after" else outcome

    def write(self, path: str, data: bytes) -> None:
        """Create or replace it."""
        with self._changing(path):
            self._disk.put(path, data)

    @contextmanager
    def open_output(self, path: str) -> Iterator[BinaryIO]:
        """The same, once all of it was handed over."""
        sink = io.BytesIO()
        yield sink
        self.write(path, sink.getvalue())

    def delete(self, path: str) -> None:
        """Remove it."""
        with self._changing(path):
            if self._disk.drop(path):
                self._disk.deleted.append((path, self._owner, self._disk.clock_ms))

    def _held(self, path: str) -> tuple[bytes, int]:
        if path not in self._disk.files:
            raise _missing(path)
        return self._disk.files[path]

    def _before(self, path: str) -> None:
        if self._turn(changes=False) is not None:
            raise _failed(path)

    @contextmanager
    def _changing(self, path: str) -> Iterator[None]:
        fault = self._turn(changes=True)
        if fault == "before":
            raise _failed(path)
        yield
        if fault == "after":
            raise _failed(path)


def _missing(path: str) -> NotFoundError:
    return NotFoundError(f"{path} is not there.", reason="Nobody put it there.", remedy="None.")


def _failed(path: str) -> StorageError:
    return StorageError(f"{path} failed.", reason="The schedule says so.", remedy="Try again.")


@dataclass(frozen=True, kw_only=True)
class Risks:
    """How often, of one turn, a participant is killed or an operation fails; ten times as
    often where the operation changes something."""

    kill: float = 0.0
    fail: float = 0.0


def run_together(
    chance: random.Random, disk: Disk, participants: Sequence[Participant], risks: Risks
) -> list[Participant]:
    """Let them take turns until each has ended or was killed; those that were killed.

    Some have the turn more often than others, and who has it may keep it for a while: a
    participant that is passed by many operations of the others is what finds faults.
    """
    for each in participants:
        each.start()
    waiting = [each for each in participants if not each.has_ended]
    killed: list[Participant] = []
    weights = {each.name: chance.choice((1, 1, 3, 10)) for each in participants}
    while waiting:
        (chosen,) = chance.choices(waiting, [weights[each.name] for each in waiting])
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            risk = chance.random() / (_MORE_RISK if chosen.changes_next else 1)
            if risk < risks.kill:
                chosen.is_killed = True
                killed.append(chosen)
                waiting.remove(chosen)
                break
            if risk < risks.kill + risks.fail:
                chosen.fault = chance.choice(("before", "after"))
            disk.clock_ms += chance.choice((1, 20, 1000))
            chosen.step()
            if chosen.has_ended:
                waiting.remove(chosen)
                break
    return killed
