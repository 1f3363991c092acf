"""Where the minutes of the suite go: wall and processor time by part, worker and test.

A worker measures itself and everything that it started: its own time, that of children which
have ended, and that of the living ones from `/proc`, among them the JVM and the browser. What
it counted goes to the process that leads the run, which writes all of it into the file that
`DELTA_EXPLORER_MINUTES` names. `tests.closing` prints it.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import EVERYTHING, SEED

RECORD = "DELTA_EXPLORER_MINUTES"
"""Names the file for the record; without it nothing is written."""

_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_EVERY = 1.0
"""Seconds after which the living children are looked at again: a look takes milliseconds."""
_SLOWEST = 25
_PROBE_EVERY = 15.0
"""Seconds between two probes of a worker: together they take less than a hundredth of its time."""
_PROBE_STEPS = 200_000


def probe() -> float:
    """Seconds of the processor for a fixed work, as they are at this moment."""
    began = time.process_time()
    digest = hashlib.sha256()
    for number in range(_PROBE_STEPS):
        digest.update(b"%d" % number)
    assert len(digest.hexdigest()) == 64
    return time.process_time() - began


@dataclass(slots=True)
class Spent:
    """Seconds by the clock and of the processor."""

    wall: float = 0.0
    cpu: float = 0.0


def _kind_of(command: str) -> str | None:
    if command == "java":
        return "JVM"
    return "browser" if command.startswith(("chrom", "headless_shell")) else None


def read_processes(proc: Path = Path("/proc")) -> Iterator[tuple[int, int, str, float, float]]:
    """Each process: its id, its parent's, its command, its own seconds and its dead children's."""
    for place in proc.iterdir():
        if not place.name.isdigit():
            continue
        try:
            said = (place / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        command, _, rest = said.partition("(")[2].rpartition(")")
        fields = rest.split()
        own, dead = (sum(map(int, fields[at : at + 2])) / _TICKS for at in (11, 13))
        yield int(place.name), int(fields[1]), command, own, dead


class Processor:
    """The processor seconds of this process and of all that it started."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[str | None, float]] = {}
        self._ended: Counter[str] = Counter()
        self._before = self._lost = 0.0

    def seconds(self) -> float:
        """All of them so far; never less than before."""
        children: dict[int, list[tuple[int, str, float, float]]] = defaultdict(list)
        for process, parent, *rest in read_processes():
            children[parent].append((process, *rest))
        total = sum(
            used.ru_utime + used.ru_stime
            for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        )
        living: dict[int, tuple[str | None, float]] = {}
        ask = [os.getpid()]
        while ask:
            for process, command, own, dead in children.pop(ask.pop(), ()):
                total += own + dead
                living[process] = (_kind_of(command), own)
                ask.append(process)
        for process, (kind, own) in self._seen.items():
            if kind and living.get(process, (None, 0.0))[1] < own:
                self._ended[kind] += own
        self._seen = living
        # one that another process inherited is gone with what it took
        self._lost += max(0.0, self._before - total)
        self._before = total
        return total + self._lost

    def kinds(self) -> dict[str, float]:
        """What the JVM and the browser took of it, as far as it was seen."""
        found = Counter(self._ended)
        for kind, own in self._seen.values():
            if kind:
                found[kind] += own
        return dict(found)


@dataclass(slots=True, eq=False)
class Meter:
    """Measures the tests of one process."""

    began: float = field(default_factory=time.monotonic)
    processor: Processor = field(default_factory=Processor)
    parts: defaultdict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    fixtures: defaultdict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    tests: list[tuple[float, str]] = field(default_factory=list)
    waited: float = 0.0
    left_out: int = 0
    probes: list[float] = field(default_factory=list)
    _probed: float = 0.0
    _looked: tuple[float, float] = (0.0, 0.0)
    _part: str = "collection"
    _free: float | None = None

    def turn_to(self, part: str) -> None:
        """What is spent from now on is spent by `part`: the collection, or a file of tests."""
        now = time.monotonic()
        if part != self._part or now - self._looked[0] > _LOOK_EVERY:
            seconds = self.processor.seconds()
            self.parts[self._part].cpu += seconds - self._looked[1]
            self._looked = (now, seconds)
            self._part = part

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Importing and collecting all tests, which each worker does."""
        answer = yield
        self.parts["collection"].wall += time.monotonic() - self.began
        return answer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """One test with its fixtures."""
        began = time.monotonic()
        if self._free is not None:
            self.waited += began - self._free
        part = item.nodeid.partition("::")[0]
        self.turn_to(part)
        answer = yield
        self._free = time.monotonic()
        self.parts[part].wall += self._free - began
        self.tests.append((self._free - began, item.nodeid))
        if len(self.tests) > 20 * _SLOWEST:
            self._keep_the_slowest()
        self.turn_to(part)
        if self._free - self._probed > _PROBE_EVERY:
            self.probes.append(probe())
            self._probed = self._free
        return answer

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """A fixture of a module or longer, with those that it asks for."""
        began = time.monotonic()
        answer = yield
        if fixturedef.scope != "function":
            place = Path(fixturedef.baseid).as_posix()
            self.fixtures[f"{place}::{fixturedef.argname}"].wall += time.monotonic() - began
        return answer

    def _keep_the_slowest(self) -> None:
        self.tests = sorted(self.tests, reverse=True)[:_SLOWEST]

    def as_record(self) -> dict[str, Any]:
        """All of it, for JSON."""
        self.turn_to("")
        self._keep_the_slowest()
        fixtures = sorted(
            ((spent.wall, name) for name, spent in self.fixtures.items()), reverse=True
        )
        return {
            "wall": time.monotonic() - self.began,
            "ended": time.time(),
            "waited": self.waited,
            "cpu": self._looked[1],
            "kinds": self.processor.kinds(),
            "parts": {name: [spent.wall, spent.cpu] for name, spent in self.parts.items()},
            "tests": self.tests,
            "fixtures": fixtures[:_SLOWEST],
            "left_out": self.left_out,
            "probes": self.probes,
        }

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand it over to the process that leads the run."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["minutes"] = self.as_record()


@dataclass(slots=True, eq=False)
class Leader:
    """Collects what the workers measured; alone, what this process did itself."""

    meter: Meter | None = None
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker is done, or lost: then it has told nothing."""
        told = getattr(node, "workeroutput", {}).get("minutes")
        if told:
            self.workers[node.gateway.id] = told

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says what was sampled, and writes the record."""
        if self.meter is not None:
            self.workers["the only process"] = self.meter.as_record()
        left_out = max((told["left_out"] for told in self.workers.values()), default=0)
        terminalreporter.write_line(sampled(left_out))
        if place := os.environ.get(RECORD):
            used = resource.getrusage(resource.RUSAGE_SELF)
            leading = 0.0 if self.meter else used.ru_utime + used.ru_stime
            record = {"leading": leading, "workers": self.workers}
            Path(place).write_text(json.dumps(record), encoding="utf-8")


def sampled(left_out: int | None = None) -> str:
    """What the seed is, how many tests wait for another one, and how to run all."""
    if EVERYTHING:
        return "sampling: everything runs"
    waiting = "" if left_out is None else f"; {left_out} tests have their turn with another seed"
    again = f"again: DELTA_EXPLORER_SEED={SEED}; all: DELTA_EXPLORER_EVERYTHING=1"
    return f"sampling: seed {SEED}{waiting} ({again})"
