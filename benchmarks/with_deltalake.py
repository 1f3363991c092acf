"""What is measured, as a user of `deltalake` would write it.

Each operation prepares itself and returns the step that is timed; the step
returns a count on which both entrants must agree. Where the peer can leave out
the list of files it may.
"""

from __future__ import annotations

from collections.abc import Callable

from deltalake import DeltaTable

from benchmarks.compared import HISTOGRAM_COLUMNS, INDEPENDENT, THROUGH_LOG
from benchmarks.growth import append_commits

Step = Callable[[], int]


def import_all() -> None:
    """Nothing: importing the package imports all that it needs."""


def open_table(table: str) -> Step:
    """Opens the latest version with its list of files."""
    return lambda: DeltaTable(table).version()


def protocol_and_metadata(table: str) -> Step:
    """The protocol and metadata of the latest version."""

    def step() -> int:
        opened = DeltaTable(table, without_files=True)
        protocol, metadata = opened.protocol(), opened.metadata()
        return protocol.min_reader_version + len(metadata.partition_columns)

    return step


def paths(table: str) -> Step:
    """The paths of the live files, by the peer's fastest call (`file_uris` makes strings)."""
    return lambda: len(DeltaTable(table).get_add_actions().column("path"))


def files(table: str) -> Step:
    """The live files with everything that the log says of them."""
    return lambda: DeltaTable(table).get_add_actions().num_rows


def flat_statistics(table: str) -> Step:
    """The live files with their statistics parsed into columns."""
    return lambda: DeltaTable(table).get_add_actions(flatten=True).num_rows


def histograms(table: str) -> Step:
    """The statistics of all columns: the peer cannot read those of some, and bars must be
    made of them after that."""

    def step() -> int:
        found = DeltaTable(table).get_add_actions(flatten=True)
        least = [found.column(f"min.{name}") for name in HISTOGRAM_COLUMNS]
        return sum(len(column) - column.null_count for column in least)

    return step


def diff(table: str) -> Step:
    """Two opens: the peer has no such call, and sets must be compared after them."""
    latest = DeltaTable(table, without_files=True).version()
    return _open_two(table, latest - 5, latest)


def diff_from_nothing(table: str) -> Step:
    """The same."""
    return diff(table)


def diff_through_log(table: str) -> Step:
    """The same, of versions with a checkpoint between them."""
    return _open_two(table, *THROUGH_LOG)


def diff_independent(table: str) -> Step:
    """The same, of versions that only their checkpoints tell of."""
    return _open_two(table, *INDEPENDENT)


def _open_two(table: str, older: int, newer: int) -> Step:
    def step() -> int:
        before, after = DeltaTable(table, version=older), DeltaTable(table, version=newer)
        return int(after.get_add_actions().num_rows - before.get_add_actions().num_rows)

    return step


def vectors(table: str) -> Step:
    """The deletion vectors of all files as masks of the rows that are live."""

    def step() -> int:
        import pyarrow as pa  # noqa: PLC0415  # see `arrow_files`

        masks = pa.RecordBatchReader.from_stream(opened.deletion_vectors()).read_all()
        return int(masks.num_rows)

    opened = DeltaTable(table)
    return step


def arrow_files(table: str) -> Step:
    """The live files as a table of pyarrow, which the peer does without until asked."""

    def step() -> int:
        import pyarrow as pa  # noqa: PLC0415  # its cost belongs to this operation alone

        # pa.table() would import pandas
        found = pa.RecordBatchReader.from_stream(DeltaTable(table).get_add_actions()).read_all()
        return int(found.num_rows)

    return step


def history_50(table: str) -> Step:
    """The newest fifty commits; that the peer has to open the table first is not counted."""
    opened = DeltaTable(table, without_files=True)
    return lambda: len(opened.history(50))


def history_50_open(table: str) -> Step:
    """The same: the peer cannot tell it of a table that is not open."""
    return history_50(table)


def history_all(table: str) -> Step:
    """All commits, counted in the same way."""
    opened = DeltaTable(table, without_files=True)
    return lambda: len(opened.history())


def travel(table: str) -> Step:
    """The live files five versions before the latest."""
    latest = DeltaTable(table, without_files=True).version()
    return lambda: len(DeltaTable(table, version=latest - 5).get_add_actions().column("path"))


def refresh(table: str) -> Step:
    """An open table after five more commits."""
    opened = DeltaTable(table)
    append_commits(table, opened.version(), 5)

    def step() -> int:
        opened.update_incremental()
        return opened.version()

    return step
