"""The closing lines of `./run tests`: the minutes of each part, its budget, what was slowest.

    python -m tests.closing RECORD PARTS SECONDS

RECORD is what `tests.minutes` wrote, PARTS what `./run` measured besides (a line each: name,
seconds by the clock, of the processor in user and in system mode), SECONDS the whole.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.minutes import probe
from tests.sampling import SEED

BUDGET = Path(__file__).parent / "budget.toml"
_SHOWN_FILES, _SHOWN_TESTS, _SHOWN_FIXTURES = 12, 12, 5


@dataclass(slots=True)
class Part:
    """Minutes of one part."""

    wall: float = 0.0
    cpu: float = 0.0


def pace_of(record: Mapping[str, Any], quick: float) -> float:
    """How many minutes of this run are one of the quick machine, where the probe takes `quick`.

    The mean of what the workers probed while they ran: one probe afterwards says how quick the
    machine is when it rests, and two runs of the same work differed by three quarters by it.
    """
    probes = [seconds for told in record["workers"].values() for seconds in told["probes"]]
    return fmean(probes or [probe()]) / quick


def read_parts(lines: str) -> dict[str, Part]:
    """What `./run` measured, several lines of a name together."""
    parts: dict[str, Part] = defaultdict(Part)
    for line in lines.splitlines():
        name, *seconds = line.split("\t")
        wall, user, system = map(float, seconds)
        parts[name].wall += wall / 60
        parts[name].cpu += (user + system) / 60
    return dict(parts)


def part_of(name: str) -> str:
    """The folder of a file of tests, those of the unit tests together; else the name itself."""
    return "/".join(name.split("/")[:2]) if name.endswith(".py") else name


def add_workers(parts: dict[str, Part], record: Mapping[str, Any]) -> dict[str, Part]:
    """The parts of `./run`, and each folder of tests as all workers together measured it."""
    found = dict(parts)
    for told in record["workers"].values():
        for name, (wall, cpu) in told["parts"].items():
            part = found.setdefault(part_of(name) or "the end", Part())
            part.wall += wall / 60
            part.cpu += cpu / 60
    found["pytest itself"] = Part(0.0, record["leading"] / 60)
    return found


def render(
    parts: Mapping[str, Part], record: Mapping[str, Any], budget: Mapping[str, Any], pace: float
) -> Iterator[str]:
    """The lines for a whole run; `pace` is how many minutes here are one of the quick machine."""
    yield f"{'minutes':38} {'by the clock':>12} {'processor':>10} {'budget':>7}"
    for name, part in sorted(parts.items(), key=lambda item: -item[1].cpu):
        allowed = budget["parts"].get(name)
        over = allowed is not None and part.cpu / pace > allowed
        limit = f"{allowed * pace:7.1f}" if allowed is not None else " " * 7
        yield f"  {name:36} {part.wall:12.1f} {part.cpu:10.1f} {limit}{'  OVER' if over else ''}"
    kinds: Counter[str] = Counter()
    for told in record["workers"].values():
        kinds.update(told["kinds"])
    for kind, seconds in sorted(kinds.items()):
        yield f"  of these the {kind:23} {'':12} {seconds / 60:10.1f}"
    yield from _render_workers(record["workers"])
    yield "costliest files, minutes of the processor"
    for cpu, name in sorted(_files(record), reverse=True)[:_SHOWN_FILES]:
        yield f"  {cpu:6.1f}  {name}"
    for title, key, count in (
        ("tests", "tests", _SHOWN_TESTS),
        ("fixtures", "fixtures", _SHOWN_FIXTURES),
    ):
        yield f"slowest {title}, seconds by the clock"
        found = [row for told in record["workers"].values() for row in told[key]]
        for seconds, name in sorted(found, reverse=True)[:count]:
            yield f"  {seconds:6.1f}  {name}"


def _files(record: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    found: Counter[str] = Counter()
    for told in record["workers"].values():
        found.update({name: cpu / 60 for name, (_, cpu) in told["parts"].items()})
    yield from ((cpu, name) for name, cpu in found.items() if name.endswith(".py"))


def _render_workers(workers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    last = max((told["ended"] for told in workers.values()), default=0.0)
    for name, told in sorted(workers.items()):
        yield (
            f"  worker {name}: {told['wall'] / 60:.1f} minutes, waited {told['waited'] / 60:.1f} "
            f"between tests and {(last - told['ended']) / 60:.1f} at the end"
        )


def render_whole(
    parts: Mapping[str, Part], minutes: float, budget: Mapping[str, Any], pace: float
) -> Iterator[str]:
    """The last lines: the whole, and what else may come."""
    cpu = sum(part.cpu for part in parts.values())
    yield f"a minute of the quick machine: {pace:.2f} of this run's, by probes while it ran"
    whole = budget["whole"]
    over = "  OVER" if cpu / pace > whole["now"] else ""
    yield (
        f"whole: {minutes:.1f} minutes by the clock; {cpu:.1f} of the processor, "
        f"{cpu / pace:.1f} of the quick machine's of {whole['now']:.0f}{over}"
    )
    coming = ", ".join(f"{name} {more:.0f}" for name, more in budget["coming"].items())
    yield f"to come: {coming}; never above {whole['never_above']:.0f}; seed {SEED}"


def main(record_file: str, parts_file: str, seconds: str) -> None:
    """Prints all lines; without a record, those of the parts alone."""
    place = Path(record_file)
    record = json.loads(place.read_text()) if place.is_file() else {"leading": 0.0, "workers": {}}
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    pace = pace_of(record, budget["machine"]["probe"])
    parts = add_workers(read_parts(Path(parts_file).read_text(encoding="utf-8")), record)
    lines = [*render(parts, record, budget, pace)]
    lines += render_whole(parts, float(seconds) / 60, budget, pace)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
