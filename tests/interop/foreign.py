"""Every Delta table below a folder, as we read it and as `deltalake` and delta-spark do.

    python -m tests.interop.foreign FOLDER [--spark]

For tables of other projects, of which no manifest says what is right: prints each table that
we refuse or read otherwise than a peer, each error that is none of ours (a crash), and counts
at the end. Ends with 1 after a crash or where rows differ. With `--spark` delta-spark reads
along; its jars are found as in the tests.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import explorer
import explorer.inspect as look
from tests.interop.reading import Case, Reading, Refused, differences
from tests.interop.reading_deltalake import read_with_deltalake
from tests.interop.reading_ours import read_ours
from tests.interop.reading_spark import read_with_spark
from tests.interop.spark_session import start_session

ROWS = ("rows", "older rows", "changes", "row ids")
"""The facts that say what the rows are; in others readers may differ in form."""

_ASKED: dict[str, Callable[[explorer.Table], object]] = {
    "history": look.history,
    "features": look.features,
    "engines": look.engines,
    "log files": look.log_files,
    "health by the log": look.log_health,
    "health by the files": look.files_health,
    "reach by the log": look.reach_by_log,
    "reach by the files": look.reach_by_files,
    "foreign files": look.foreign_files,
    "statistics": lambda table: look.column_statistics(table.snapshot()),
    "layout": lambda table: look.file_layout(table.snapshot()),
    "deletion vectors": lambda table: look.deletion_vectors(table.snapshot()),
    "schema": look.schema,
}


def find_tables(folder: Path) -> list[Path]:
    """The folders that hold a log with a commit or a checkpoint, in order of their paths."""
    return sorted(log.parent for log in folder.rglob("_delta_log") if _has_log(log))


def _has_log(log: Path) -> bool:
    return any(log.glob("*.json")) or any(log.glob("*.parquet"))


def crashes(place: Path) -> Iterator[str]:
    """What ends in an error that is none of ours, question by question."""
    for name, question in _ASKED.items():
        try:
            question(explorer.open_table(place))
        except explorer.DeltaError:
            pass
        except Exception:  # noqa: BLE001  # a crash is what is looked for
            yield f"{name}: {traceback.format_exc(limit=-3)}"


def compare(place: Path, folder: Path, peers: dict[str, Callable[[Case], Reading]]) -> Counter[str]:
    """Prints what is told otherwise about one table, and counts it."""
    found: Counter[str] = Counter(tables=1)
    name = str(place.relative_to(folder))
    for crash in crashes(place):
        found["crashes"] += 1
        print(f"CRASH {name}: {crash}")  # noqa: T201  # a command: it prints what it found
    case = Case(place=place, expected=_expected(place, name))
    ours = _told(partial(read_ours, case), name, found)
    refusal = ours.get("opening")
    if isinstance(refusal, Refused):
        found["refused"] += 1
        print(f"refused {name}: {refusal.message}")  # noqa: T201  # a command: it prints what it found
    for peer, read in peers.items():
        theirs = _answered(_told(partial(read, case), name, found))
        if isinstance(refusal, Refused):
            theirs = {fact: answer for fact, answer in theirs.items() if fact == "opening"}
        for fact, text in differences(ours, theirs).items():
            found[f"{peer}: {fact}"] += 1
            found["rows differ"] += fact in ROWS
            print(f"{'ROWS' if fact in ROWS else 'differs'} {name}: {peer}, {fact}: {text}")  # noqa: T201  # a command: it prints what it found
    return found


def _answered(reading: Reading) -> Reading:
    """What the reader answered: a refusal of its own says nothing of what we read."""
    answered = {fact: _known(answer) for fact, answer in reading.items()}
    return {fact: answer for fact, answer in answered.items() if not isinstance(answer, Refused)}


def _known(answer: Any) -> Any:
    if type(answer) is not dict:
        return answer
    return {key: value for key, value in answer.items() if not isinstance(value, Refused)}


def _expected(place: Path, name: str) -> dict[str, Any]:
    commits = (place / "_delta_log").glob("*.json")
    versions = sorted(int(path.stem) for path in commits if path.stem.isdigit())
    history = [{"version": version} for version in versions]
    return {"name": name, "num_rows_live": None, "history": history}


def _told(read: Callable[[], Reading], name: str, found: Counter[str]) -> Reading:
    try:
        return read()
    except explorer.DeltaError as error:
        return {"opening": Refused(str(error))}
    except Exception:  # noqa: BLE001  # a crash is what is looked for
        found["crashes"] += 1
        print(f"CRASH {name}: {traceback.format_exc(limit=-4)}")  # noqa: T201  # a command: it prints what it found
        return {}


def main(arguments: list[str]) -> int:
    """The command."""
    folder = Path(next(argument for argument in arguments if not argument.startswith("--")))
    peers: dict[str, Callable[[Case], Reading]] = {"deltalake": read_with_deltalake}
    if "--spark" in arguments:
        peers["delta-spark"] = partial(read_with_spark, start_session())
    found: Counter[str] = Counter()
    for place in find_tables(folder):
        found += compare(place, folder, peers)
    print(", ".join(f"{count} {what}" for what, count in found.items()))  # noqa: T201  # a command: it prints what it found
    return int(found["crashes"] + found["rows differ"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
