"""The least that any answer must do: reading only the bytes or columns that it needs.

The third beside `benchmarks.with_explorer` and `benchmarks.with_deltalake`, as naive as
can be: no protocol, no replay, no checks, files in the order of their names. A step
returns how much it read, which is none of the counts on which the other two agree. The
log is listed in each step, because no answer can do without that; where a table is open
already, it was listed before.

The bare imports stand here too. Nothing heavy is imported on top: whole processes are
measured.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from benchmarks.compared import HISTOGRAM_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

Step = Callable[[], int]

_HEAD_BYTES = 4096
_NEWEST = 50
_FILE_COLUMNS = ("path", "size", "modificationTime", "partitionValues", "deletionVector")


def import_all() -> None:
    """What reads columns."""
    for name in ("pyarrow.compute", "pyarrow.parquet"):
        importlib.import_module(name)


def import_pyarrow(_: str) -> Step:
    """A process that does nothing but `import pyarrow`."""
    return lambda: bool(importlib.import_module("pyarrow"))


def import_parquet(_: str) -> Step:
    """A process that does nothing but `import pyarrow.parquet`."""
    return lambda: bool(importlib.import_module("pyarrow.parquet"))


def protocol_and_metadata(table: str) -> Step:
    """The footer of a checkpoint and two columns of its first row group."""

    def step() -> int:
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415  # see above

        with ParquetFile(_checkpoint_files(table)[0]) as file:
            return int(file.read_row_group(0, ["protocol", "metaData"]).num_rows)

    return step


def paths(table: str) -> Step:
    """The one column, kept as an answer would keep it."""
    return lambda: _read_columns(table, ["add.path"])


def files(table: str) -> Step:
    """The columns that `files()` has of such a table."""
    return lambda: _read_columns(table, [f"add.{name}" for name in _FILE_COLUMNS])


def statistics_texts(table: str) -> Step:
    """The JSON, not parsed."""
    return lambda: _read_columns(table, ["add.stats"])


def statistics_structs(table: str) -> Step:
    """The bounds of two columns."""
    sides = ("minValues", "maxValues")
    names = [f"add.stats_parsed.{side}.{name}" for side in sides for name in HISTOGRAM_COLUMNS]
    return lambda: _read_columns(table, names)


def commits(table: str) -> Step:
    """All bytes of all commits, one after the other in the order of their versions."""

    def step() -> int:
        log = _log_of(table)
        return sum(_read_bytes(os.path.join(log, name)) for name in _commit_names(log))

    return step


def history_50(table: str) -> Step:
    """The first 4 KiB of the newest fifty commits."""

    def step() -> int:
        log = _log_of(table)
        return _read_heads(log, _commit_names(log)[-_NEWEST:])

    return step


def history_50_open(table: str) -> Step:
    """The same, with the names known."""
    log = _log_of(table)
    newest = _commit_names(log)[-_NEWEST:]
    return lambda: _read_heads(log, newest)


def history_all(table: str) -> Step:
    """The first 4 KiB of every commit."""

    def step() -> int:
        log = _log_of(table)
        return _read_heads(log, _commit_names(log))

    return step


def vectors(table: str) -> Step:
    """The bytes of all deletion vectors."""

    def step() -> int:
        names = (name for name in os.listdir(table) if name.endswith(".bin"))
        return sum(_read_bytes(os.path.join(table, name)) for name in names)

    return step


def _read_columns(table: str, columns: list[str]) -> int:
    """Rows read: all of a checkpoint's, those of other actions too."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415  # see above

    kept: list[pa.Table] = []
    for name in _checkpoint_files(table):
        with ParquetFile(name) as file:
            kept.append(file.read(columns).flatten())
    return sum(part.num_rows for part in kept)


def _checkpoint_files(table: str) -> list[str]:
    """The files of the one checkpoint that have file actions."""
    log = _log_of(table)
    sidecars = os.path.join(log, "_sidecars")
    if os.path.isdir(sidecars):
        return [os.path.join(sidecars, name) for name in sorted(os.listdir(sidecars))]
    return [
        os.path.join(log, name) for name in sorted(os.listdir(log)) if name.endswith(".parquet")
    ]


def _commit_names(log: str) -> list[str]:
    return sorted(name for name in os.listdir(log) if name.endswith(".json"))


def _read_heads(log: str, names: Iterable[str]) -> int:
    """How many are read; what was read is kept until then."""
    heads: list[bytes] = []
    for name in names:
        file = os.open(os.path.join(log, name), os.O_RDONLY)
        try:
            heads.append(os.read(file, _HEAD_BYTES))
        finally:
            os.close(file)
    return len(heads)


def _read_bytes(name: str) -> int:
    with open(name, "rb", buffering=0) as file:
        return len(file.read())


def _log_of(table: str) -> str:
    return os.path.join(table, "_delta_log")
