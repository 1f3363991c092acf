"""One run of a write without Spark, by one entrant; `benchmarks.writes` starts it in a fresh
process.

    python -m benchmarks.writes_here STEP ENTRANT SIZE FOLDER

Prints one JSON object: seconds of the clock and of processors, and by how many MiB the peak of
memory grew meanwhile.
"""

from __future__ import annotations

import datetime
import json
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.measure import peak_mib
from benchmarks.writes_measured import CHECKPOINTS, Taken, sync, timed, timed_synced

_CHECKSUM_BYTES = 3_000
"""What ours takes, nearly; `deltalake` writes none, so that one is written beside its table."""

_THEIRS = {"delta.checkpointInterval": CHECKPOINTS}
# what `deltalake` writes; its own tables cannot have the property
_OURS = _THEIRS | {"delta.parquet.compression.codec": "snappy"}
_ROW = pa.table({"id": [1], "name": ["a"], "amount": [1.5]})


def eight_columns(rows: int) -> pa.Table:
    """The rows that `benchmarks.writes_spark` makes on Spark, but for other numbers at random."""
    return columns_of(range(rows))


def columns_of(numbers: range, parts: int = 0) -> pa.Table:
    """Rows of these ids; of a thousand neighbours one `day` of so many, else of 20 at random."""
    ids = np.array(numbers, dtype=np.int64)
    chance = np.random.default_rng(7).integers(0, 2**40, len(ids))
    days = ids // 1000 % parts if parts else chance % 20
    notes = pc.binary_join_element_wise(
        "note", pc.cast(pa.array(chance % 1_000_000), "string"), " "
    )
    return pa.table(
        {
            "id": ids,
            "amount": ids * 0.37 % 1000,
            "region": (ids % 1000).astype(np.int32),
            "day": days.astype(np.int32),
            "note": notes,
            "at": pa.array(1_700_000_000_000_000 + ids * 1000).cast(pa.timestamp("us", "UTC")),
            "flag": ids % 7 == 0,
            "price": pa.array(ids % 100_000).cast(pa.decimal128(19, 0)).cast(pa.decimal128(12, 2)),
        }
    )


def arrow_by_explorer(rows: int, place: Path) -> Callable[[], Taken]:
    """One append of rows that are in memory."""
    from explorer import pipeline  # noqa: PLC0415  # of one entrant alone

    table = eight_columns(rows)
    pipeline.write(table.slice(0, 1000), place, properties=_OURS)
    return lambda: timed(lambda: pipeline.write(table, place))


def arrow_by_deltalake(rows: int, place: Path) -> Callable[[], Taken]:
    """The same."""
    from deltalake import write_deltalake  # noqa: PLC0415  # of one entrant alone

    table = eight_columns(rows)
    write_deltalake(place, table.slice(0, 1000), configuration=_THEIRS)
    append = lambda: write_deltalake(place, table, mode="append")  # noqa: E731
    return lambda: _with_checksum(append, place)


def appends_by_explorer(count: int, place: Path) -> Callable[[], Taken]:
    """Appends of one row, by the table's place."""
    from explorer import pipeline  # noqa: PLC0415  # of one entrant alone

    pipeline.write(_ROW, place, properties=_OURS)
    return lambda: _sum(timed(lambda: pipeline.write(_ROW, place)) for _ in range(count))


def appends_by_deltalake(count: int, place: Path) -> Callable[[], Taken]:
    """The same."""
    from deltalake import write_deltalake  # noqa: PLC0415  # of one entrant alone

    write_deltalake(place, _ROW, configuration=_THEIRS)
    append = lambda: write_deltalake(place, _ROW, mode="append")  # noqa: E731
    return lambda: _sum(_with_checksum(append, place) for _ in range(count))


def open_by_explorer(count: int, place: Path) -> Callable[[], Taken]:
    """Appends of one row to a table of many files that is open; the due checkpoints, one of ten,
    are printed apart."""
    import explorer  # noqa: PLC0415  # of one entrant alone
    from explorer import pipeline  # noqa: PLC0415  # as above

    opened = explorer.open_table(place)
    opened.snapshot()
    row = pa.table({"order_id": [1], "region": ["emea"], "day": [datetime.date(2025, 1, 1)]})
    pipeline.write(row, opened)

    def step() -> Taken:
        plain: list[Taken] = []
        due: list[Taken] = []
        while len(plain) < count:
            is_due = not (opened.snapshot().version + 1) % 10
            (due if is_due else plain).append(timed(lambda: pipeline.write(row, opened)))
        for name, some in (("append", plain), ("append with its checkpoint", due)):
            walls = sorted(one.wall for one in some)
            cpus = sorted(one.processors for one in some)
            middle = len(some) // 2
            print(
                f"| {name} | median {walls[middle]:.2f} s, {cpus[middle]:.2f} s of processors "
                f"| least {walls[0]:.2f} s, {cpus[0]:.2f} s |",
                file=sys.stderr,
            )
        return _sum(plain)

    return step


def _with_checksum(append: Callable[[], object], place: Path) -> Taken:
    """An append of a peer whose files are synced, and bytes like those of a checksum too."""
    taken = timed_synced(append, place)
    beside = place.with_name(f"{place.name}-checksums")
    beside.mkdir(exist_ok=True)
    path = beside / "crc"

    def write() -> None:
        path.write_bytes(b" " * _CHECKSUM_BYTES)
        sync([str(path)])

    path.unlink(missing_ok=True)
    return _sum([taken, timed(write)])


def _sum(some: Iterable[Taken]) -> Taken:
    found = list(some)
    return Taken(sum(one.wall for one in found), sum(one.processors for one in found))


STEPS = {
    ("arrow", "delta-explorer"): arrow_by_explorer,
    ("arrow", "deltalake"): arrow_by_deltalake,
    ("appends", "delta-explorer"): appends_by_explorer,
    ("appends", "deltalake"): appends_by_deltalake,
    ("open", "delta-explorer"): open_by_explorer,
}


def main(step: str, entrant: str, size: str, folder: str) -> None:
    """Runs a step once, on a table below `folder`."""
    place = Path(folder)
    run = STEPS[step, entrant](int(size), place)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins here
    before = peak_mib()
    taken = run()
    found = {"wall": taken.wall, "processors": taken.processors, "mib": peak_mib() - before}
    print(json.dumps(found))
    if step != "open":
        shutil.rmtree(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
