"""Live files that have no column in common with their table, by their footers
(spec: Data Files, Column Mapping)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from explorer.inspect.frames import Column, build_frame
from explorer.inspect.health.findings import Finding
from explorer.log.actions.columns import string_column
from explorer.rows.data_file.unrelated_file import unrelated_problem
from explorer.rows.unrelated_files import UnrelatedFiles
from explorer.table.counts import count, have

_SPEC: Final = "Data Files"

UNRELATED: Final[dict[str, Column]] = {"path": (string_column, pa.string())}


def unrelated_frame(found: UnrelatedFiles) -> pa.Table:
    """The files, one a row."""
    return build_frame(UNRELATED, [(path,) for path in found.paths])


def judge_unrelated(version: int, found: UnrelatedFiles) -> Iterator[Finding]:
    """One finding for all of them, and a note where footers were left out."""
    if found.num_left:
        yield Finding(
            severity="note",
            finding="footers that were not read",
            problem=f"Whether {have(found.num_left, 'file')} a column of the table is not known.",
            reason=f"No more than {count(found.num_read, 'footer')} were read, first of those "
            "whose statistics show no value of a column of the table.",
            spec=_SPEC,
            remedy="Read all of them with `schema --files --limit N`.",
        )
    if not found.paths:
        return
    problem = unrelated_problem(version, found.paths[0], len(found.paths))
    yield Finding(
        severity="error",
        finding="file without a column of the table",
        problem=problem.problem,
        reason=problem.reason,
        evidence=found.paths[0],
        spec=problem.spec,
        remedy=problem.remedy,
    )
