"""What is asked of one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import explorer.inspect as look
from explorer.errors import DeltaError
from explorer.progress import Watch
from explorer.protocol.actions import Metadata, Protocol
from widgets.screens.rows.ask import Rows, plain_rows
from widgets.session.tables import TableService
from widgets.ui.records import read_records

FREE_FILES = 500
FREE_BYTES = 256 * 2**20
"""Up to so many files, and so many bytes, a commit's rows are read unasked: within a second or two,
for fifty rows are soon found."""

ROWS_SHOWN = 50
ACTIONS_HELD = 20_000
"""Lines of a commit that a page holds; the command line pages through the others."""


@dataclass(frozen=True, slots=True)
class OneCommit:
    """The question about the rows of a commit; `is_free` says that they are read unasked."""

    service: TableService
    version: int
    is_free: bool


@dataclass(frozen=True, kw_only=True)
class CommitFacts:
    """What one commit records of itself, and what its actions count: `entry` is its row of the
    timeline, with unknown as None."""

    version: int
    info: Mapping[str, Any]
    entry: Mapping[str, Any] = field(default_factory=dict)

    @property
    def may_change_access(self) -> bool:
        """Whether it may have changed what the table asks of its users."""
        return bool(
            not self.entry or self.entry.get("has_protocol") or self.entry.get("has_metadata")
        )

    @property
    def sentence(self) -> look.CommitSentence:
        """Who did what."""
        return sentence_of(self.info, self.entry)

    @property
    def is_free(self) -> bool:
        """Whether its rows are read unasked."""
        numbers = [self.entry.get(name) for name in ("files_added", "files_removed",
                                                     "deletion_vectors_added")]  # fmt: skip
        size = [self.entry.get(name) for name in ("bytes_added", "bytes_removed")]
        if None in numbers or None in size:
            return False
        return sum(map(int, numbers)) <= FREE_FILES and sum(map(int, size)) <= FREE_BYTES  # type: ignore[arg-type]


def sentence_of(info: Mapping[str, Any], entry: Mapping[str, Any]) -> look.CommitSentence:
    """The sentence of a commit by its record, and the counts of its row of the timeline."""
    return look.row_sentence(
        {
            **entry,
            "operation": info["operation"],
            "operation_parameters": info["parameters"],
            "operation_metrics": info["metrics"],
            "user_name": info["user"],
        }
    )


def read_commit_facts(
    service: TableService, version: int, entry: Mapping[str, Any] | None
) -> CommitFacts:
    """What is known of a commit; `entry` is its row of the timeline, where that is read already.
    Raises `NotFoundError` where the commit is not in the log."""
    info = service.read_commit(version)
    if entry is None:
        frame = service.read_timeline(version, version, None, None)
        entry = read_records(frame)[0] if frame.num_rows else {}
    return CommitFacts(version=version, info=info, entry=entry)


def read_access(service: TableService, facts: CommitFacts) -> str:
    """Who can read the table after a commit; empty where its protocol cannot be read. Of 100,000
    commits it takes longer than the commit itself."""
    version = facts.version
    try:
        after = before = _asked(service, version)
        if version and facts.may_change_access:
            before = _asked(service, version - 1)
        used = service.read_engines_in_use()
    except DeltaError:
        return ""  # the table's state says what is wrong with it
    return look.readers_sentence(before if version else None, after, used)


def _asked(service: TableService, version: int) -> tuple[Protocol, Metadata]:
    return service.read_protocol(version), service.read_metadata(version)


@dataclass(frozen=True, kw_only=True)
class ChangedRows:
    """The first rows that a commit changed, as values that can be shown."""

    found: look.CommitRows = field(compare=False)
    rows: Rows


def read_changed_rows(asked: OneCommit, watch: Watch) -> ChangedRows:
    """The rows that a commit changed; an update counts once."""
    found = look.commit_rows(
        asked.service.table,
        asked.version,
        2 * ROWS_SHOWN,
        progress=watch.progress,
        cancel=watch.cancel,
    )
    names = found.rows.column_names
    shown = found.rows.select([names[-3], *names[:-3]])
    return ChangedRows(found=found, rows=plain_rows(shown, is_cut=found.is_cut))


def read_some_actions(asked: OneCommit) -> pa.Table:
    """The first lines of a commit."""
    return asked.service.read_actions(asked.version, ACTIONS_HELD)
