"""Writers whose requests are put in order by a seed, on a store in memory."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from explorer.errors import NotFoundError
from explorer.storage.ports import Content, ObjectInfo, PutOutcome


class Turns:
    """Lets one of several threads go on at a time, which one by a seed.

    A thread that asks for its turn waits until all others wait too, so that a schedule
    depends on the seed alone.
    """

    def __init__(self, seed: int, number: int) -> None:
        self.rng = random.Random(seed)
        self._changed = threading.Condition()
        self._running = number
        self._waiting: list[int] = []
        self._turn: int | None = None

    def take(self, who: int) -> None:
        """Wait for the turn of `who`."""
        with self._changed:
            self._waiting.append(who)
            self._running -= 1
            self._choose()
            while self._turn != who:
                self._changed.wait()
            self._turn = None

    def leave(self) -> None:
        """A thread has ended."""
        with self._changed:
            self._running -= 1
            self._choose()

    def _choose(self) -> None:
        if self._running == 0 and self._waiting:
            self._waiting.sort()
            self._turn = self._waiting.pop(self.rng.randrange(len(self._waiting)))
            self._running = 1
            self._changed.notify_all()


class ScheduledStore:
    """The door of one writer to objects that several share; each request waits for its turn.

    One put in eight is not answered: it took effect, or it did not.
    """

    uri = "memory"

    def __init__(self, objects: dict[str, bytes], turns: Turns, who: int) -> None:
        self._objects, self._turns, self._who = objects, turns, who

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        self._turns.take(self._who)
        content = data if isinstance(data, bytes) else b"".join(data)
        lost = self._turns.rng.random() < 0.125
        if lost and self._turns.rng.random() < 0.5:
            return PutOutcome.UNKNOWN
        if path in self._objects:
            return PutOutcome.UNKNOWN if lost else PutOutcome.ALREADY_THERE
        self._objects[path] = content
        return PutOutcome.UNKNOWN if lost else PutOutcome.CREATED

    def read(self, path: str, limit: int | None = None) -> bytes:
        self._turns.take(self._who)
        return self._held(path)[:limit]

    def stat(self, path: str) -> ObjectInfo:
        self._turns.take(self._who)
        return ObjectInfo(name=path, size=len(self._held(path)), modified_ms=0)

    def list_names(self, folder: str) -> list[str]:
        self._turns.take(self._who)
        return [path.removeprefix(f"{folder}/") for path in self._objects]

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        return [self.stat(f"{folder}/{name}") for name in self.list_names(folder)]

    def read_many(self, paths: Iterable[str], limit: int | None = None) -> Iterator[bytes]:
        return (self.read(path, limit) for path in paths)

    def has_folder(self, folder: str) -> bool:
        return any(path.startswith(folder) for path in self._objects)

    def open_input(self, path: str) -> object:
        raise AssertionError(f"no commit asks for this: {path}")

    def write(self, path: str, data: bytes) -> None:
        raise AssertionError(f"no commit asks for this: {path}, {len(data)} bytes")

    def delete(self, path: str) -> None:
        raise AssertionError(f"no commit asks for this: {path}")

    def _held(self, path: str) -> bytes:
        if (found := self._objects.get(path)) is None:
            raise NotFoundError(f"{path} is not there.", reason="None.", remedy="None.")
        return found


def run_side_by_side(seed: int, work: Sequence[Callable[[Turns, int], None]]) -> None:
    """Each piece of work in a thread of its own, in the order that the seed makes."""
    turns = Turns(seed, len(work))
    errors: list[BaseException] = []

    def run(who: int) -> None:
        try:
            work[who](turns, who)
        except BaseException as error:  # noqa: BLE001  # told by the main thread
            errors.append(error)
        finally:
            turns.leave()

    threads = [threading.Thread(target=run, args=(who,)) for who in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]
