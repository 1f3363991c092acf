"""A new data file that is another one without some of its rows, copied byte by byte but for the
pages that lose one (spec: Data Files, Per-file Statistics).

Which files it is not done with is decided here alone: whoever gets None reads the rows and writes
them again, which works with every file.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from pyroaring import BitMap64

from explorer.rows.conversion.calendars import former_calendar
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.parquet_file import ParquetDataFile, open_data_file, reading
from explorer.rows.request import RowRequest
from explorer.rows.row_checks import RowChecks, find_broken_partition
from explorer.storage.parquet.without_rows import FileWithoutRows, NotEditableError
from explorer.storage.ports import RangeStore, WriteStore, offers
from explorer.writing.files._kept_statistics import LeafRows, keep_statistics
from explorer.writing.files.file_form import FileForm
from explorer.writing.files.new_file import WrittenFile, new_output

LEAST_BYTES: Final = 2**20
"""Of a file that is copied, by the log: reading a smaller one takes no longer than taking it
apart."""

_SHARE: Final = 4
"""Pages that lose a row may have one of so many values: decoding and encoding these takes as long
as that of all others."""


def copy_without(  # noqa: PLR0913  # one file, and what is known of it
    store: WriteStore,
    path: str,
    file: DataFile,
    hidden: BitMap64,
    *,
    request: RowRequest,
    form: FileForm,
    stats: str,
) -> WrittenFile | None:
    """Write the rows of `file` that are not `hidden` to `path`, where they can be copied.

    `request` and `form` are what reading and writing them again would be given, `stats` those of
    the file, exact for all of its rows. None where it has to be done in that way; then nothing is
    written. Raises as `open_data_file`, and what the store raises.
    """
    if offers(store, RangeStore) or (file.size or 0) < LEAST_BYTES:
        return None  # before it is opened twice
    version = request.layout.version
    with open_data_file(store, file, version) as opened:
        if not _is_copied_alike(opened, request, form):
            return None
        dropped = np.fromiter(hidden, np.int64, len(hidden))
        with reading(file, version):
            groups = range(opened.reader.metadata.num_row_groups)
            leaves = range(len(opened.reader.metadata.schema))
            opened.source.check_pages(groups, leaves)
            try:
                kept = FileWithoutRows(opened.source, opened.reader, dropped, _SHARE)
            except NotEditableError:
                return None
            text = _statistics(stats, len(hidden), kept, form)
            if text is None or kept.num_rows + len(hidden) != opened.num_rows:
                return None
        try:
            with new_output(store, path) as sink:
                kept.write(sink)
        except NotEditableError:
            return None
    found = store.stat(path)
    return WrittenFile(
        path=path,
        size=found.size,
        modified_ms=found.modified_ms,
        num_rows=kept.num_rows,
        stats=text,
    )


def _is_copied_alike(opened: ParquetDataFile, request: RowRequest, form: FileForm) -> bool:
    """Whether a copy is what writing the rows again would make: the same columns in the same types,
    nothing beside them, and no row that must not be written."""
    found, wanted = opened.schema, form.schema
    if request.metadata_columns:
        return False
    if found.names != wanted.names or found.types != wanted.types:
        return False
    if request.layout.mapping != "none" and not found.remove_metadata().equals(
        wanted.remove_metadata(), check_metadata=True
    ):
        return False
    if former_calendar(found, opened.file.shown) is not None:
        return False
    return request.checks is None or _is_sound(opened, request.checks)


def _is_sound(opened: ParquetDataFile, checks: RowChecks) -> bool:
    """Whether the footer alone says that no row breaks a rule."""
    if find_broken_partition(opened.file.partition_values, checks, opened.num_rows):
        return False
    claims = opened.source.stored.claims(opened.source.file)
    schema = opened.reader.metadata.schema
    for name, check in checks.columns:
        leaves = opened.source.stored.leaves(schema, [name])
        if check.characters is not None or check.inner or len(leaves) != 1:
            return False
        if any(group[leaves[0]].num_nulls for group in claims):
            return False
    return bool(claims)


def _statistics(stats: str, num_removed: int, kept: FileWithoutRows, form: FileForm) -> str | None:
    leaves = {
        path: LeafRows(
            removed=kept.removed[path], near=kept.near[path], rest=partial(kept.rest, path)
        )
        for path in form.statistics
        if path in kept.removed
    }
    # a column that the file has in another way is read with its rows
    if len(leaves) < len(form.statistics):
        return None
    return keep_statistics(stats, num_removed, leaves, form.string_prefix)
