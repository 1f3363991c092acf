"""One run of a work with a part that is there for speed, or without it; `benchmarks.pays` starts it
in a fresh process, and says what is printed.

Without the part stands what pyarrow offers in its place, put in before the work begins.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.measure import peak_mib
from benchmarks.pays import WITHOUT
from benchmarks.with_explorer import import_all
from benchmarks.writes_here import eight_columns
from explorer import open_table
from explorer.scan.statistics.live_files import parsed_statistics

Step = Callable[[str], Callable[[], int]]

# what is within a folder, and where the parts are put out of use
_infos: Any = importlib.import_module("explorer.log.commits.recorded_infos")
_texts: Any = importlib.import_module("explorer.log.statistics.statistics_text")
_new_file: Any = importlib.import_module("explorer.writing.files.new_file")


def history(table: str) -> Callable[[], int]:
    """All commits."""
    return lambda: int(open_table(table).history().num_rows)


def statistics(table: str) -> Callable[[], int]:
    """The statistics of all live files as columns."""
    return lambda: int(parsed_statistics(open_table(table).snapshot()).num_rows)


def append_rows(table: str) -> Callable[[], int]:
    """Rows of Arrow that are appended to a table beside `table`."""
    from explorer import pipeline  # noqa: PLC0415  # this work's own

    rows, place = eight_columns(3_000_000), f"{table}-rows"
    pipeline.write(rows.slice(0, 1000), place)

    def step() -> int:
        pipeline.write(rows, place)
        return int(rows.num_rows)

    return step


_STEPS: Mapping[str, Step] = {
    "history": history,
    "statistics": statistics,
    "append": append_rows,
}


def leave_out() -> None:
    """Puts pyarrow's own way in the place of each part."""
    _infos.ENOUGH = sys.maxsize
    _texts.read_uniform = lambda *_: []
    _new_file._WORTH_THREADS = sys.maxsize


def main(step: str, way: str, table: str) -> None:
    """Runs a work once."""
    import_all()
    importlib.import_module("concurrent.futures")
    if way == WITHOUT:
        leave_out()
    work = _STEPS[step](table)
    begun, used = time.perf_counter(), time.process_time()
    count = work()
    found: dict[str, Any] = {
        "inner_ms": (time.perf_counter() - begun) * 1000,
        "processor_ms": (time.process_time() - used) * 1000,
        "peak_mib": peak_mib(),
        "count": count,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
