"""What is measured, as a user of this package would write it.

The counterpart of `benchmarks.with_deltalake`: the same names, the same counts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from benchmarks.compared import HISTOGRAM_COLUMNS, INDEPENDENT, THROUGH_LOG
from benchmarks.growth import append_commits
from explorer import Table
from explorer import open_table as open_ours

Step = Callable[[], int]


def import_all() -> None:
    """What the engine imports only when columns are asked for."""
    for name in (
        "explorer.comparison.file_changes",
        "explorer.comparison.routes",
        "explorer.log.reconcile.extend",
        "explorer.log.commits.info_columns",
        "explorer.log.state.reconciled_files",
        "explorer.scan.statistics.live_files",
        "explorer.log.statistics.statistics_text",
        "explorer.table.history",
        "explorer.table.files_table",
        "explorer.table.times",
        "pyarrow.compute",
        "pyarrow.json",
        "pyarrow.parquet",
    ):
        importlib.import_module(name)


def open_table(table: str) -> Step:
    """Opens the latest version with its list of files."""
    return lambda: _load(open_ours(table))


def protocol_and_metadata(table: str) -> Step:
    """The protocol and metadata of the latest version."""

    def step() -> int:
        opened = open_ours(table)
        protocol, metadata = opened.protocol(), opened.metadata()
        return protocol.min_reader_version + len(metadata.partition_columns)

    return step


def paths(table: str) -> Step:
    """The paths of the live files."""
    return lambda: int(open_ours(table).snapshot().files(columns=["path"]).num_rows)


def files(table: str) -> Step:
    """The live files with the default columns."""
    return lambda: int(open_ours(table).snapshot().files().num_rows)


def flat_statistics(table: str) -> Step:
    """The live files with their statistics parsed into columns."""
    from explorer.scan.statistics.live_files import parsed_statistics  # noqa: PLC0415  # this operation's own

    return lambda: int(parsed_statistics(open_ours(table).snapshot()).num_rows)


def histograms(table: str) -> Step:
    """How the ranges of two columns lie over the files, as the page draws them."""
    from explorer.scan.statistics.live_files import parsed_bounds  # noqa: PLC0415  # as above
    from widgets.screens.statistics.ask import measure_ranges  # noqa: PLC0415  # as above

    importlib.import_module("pandas")  # `to_numpy` brings it, and imports do not count

    def step() -> int:
        found = parsed_bounds(open_ours(table).snapshot(), HISTOGRAM_COLUMNS)
        ranges = [
            measure_ranges(found.column(f"min.{name}"), found.column(f"max.{name}"))
            for name in HISTOGRAM_COLUMNS
        ]
        return sum(column.num_files - column.unbounded for column in ranges)

    return step


def diff(table: str) -> Step:
    """Which files came and went in five versions, of a table that is open."""
    latest = open_ours(table).latest_version()
    return _compare_open(table, latest - 5, latest, "shared checkpoint")


def diff_from_nothing(table: str) -> Step:
    """The same of a table that is not open."""
    from explorer.comparison.versions import diff as compare  # noqa: PLC0415  # as above

    def step() -> int:
        opened = open_ours(table)
        newer = opened.snapshot()
        files = compare(opened.snapshot(version=newer.version - 5), newer).files
        return files.num_added - files.num_removed

    return step


def diff_through_log(table: str) -> Step:
    """Versions with a checkpoint between them, and all commits."""
    return _compare_open(table, *THROUGH_LOG, "log")


def diff_independent(table: str) -> Step:
    """Versions that only their checkpoints tell of."""
    return _compare_open(table, *INDEPENDENT, "independent")


def _compare_open(table: str, before: int, after: int, route: str) -> Step:
    """Two versions of a table that is open, their files counted; another route than the
    one that is to be measured is refused."""
    from explorer.comparison.versions import diff as compare  # noqa: PLC0415  # as above

    opened = open_ours(table)
    older, newer = opened.snapshot(version=before), opened.snapshot(version=after)
    _ = newer.num_files, older.num_files

    def step() -> int:
        files = compare(older, newer).files
        if files.route != route:
            raise SystemExit(f"The route is {files.route!r}, not {route!r}.")
        return files.num_added - files.num_removed

    return step


def vectors(table: str) -> Step:
    """The deletion vectors of all files as masks of the rows that are live."""
    from explorer.protocol.vectors.deletion_vectors import deletion_mask  # noqa: PLC0415  # as above
    from explorer.rows.data_file.data_file import FILE_COLUMNS, data_files  # noqa: PLC0415  # as above
    from explorer.rows.data_file.deletion_vectors import read_deletion_vector  # noqa: PLC0415  # as above

    snapshot = open_ours(table).snapshot()

    def step() -> int:
        masks = 0
        for file in data_files(snapshot.files(FILE_COLUMNS)):
            if file.deletion_vector is not None:
                bitmap = read_deletion_vector(snapshot.store, file.deletion_vector)
                masks += len(deletion_mask(bitmap, 0, bitmap.max() + 1)) > 0
        return masks

    return step


def arrow_files(table: str) -> Step:
    """The live files as a table of pyarrow, imported for them alone."""
    return lambda: int(open_ours(table).snapshot().files().num_rows)


def history_50(table: str) -> Step:
    """The newest fifty commits."""
    return lambda: int(open_ours(table).history(50).num_rows)


def history_50_open(table: str) -> Step:
    """The newest fifty commits of a table that is open, as the peer has it; what came since
    then would be seen."""
    opened = open_ours(table)
    _load(opened)
    return lambda: int(opened.history(50).num_rows)


def history_all(table: str) -> Step:
    """All commits."""
    return lambda: int(open_ours(table).history().num_rows)


def travel(table: str) -> Step:
    """The live files five versions before the latest."""
    latest = open_ours(table).latest_version()

    def step() -> int:
        snapshot = open_ours(table).snapshot(version=latest - 5)
        return int(snapshot.files(columns=["path"]).num_rows)

    return step


def refresh(table: str) -> Step:
    """An open table after five more commits."""
    opened = open_ours(table)
    append_commits(table, _load(opened), 5)
    return lambda: _load(opened)


def _load(table: Table) -> int:
    """The latest version, its files counted: the peer loads them when it opens."""
    snapshot = table.snapshot()
    return snapshot.version if snapshot.num_files else -1
