"""How far a stream has read: what Spark keeps of it in the checkpoint location.

    {"delta_explorer": 1, "table": "…", "feed": false,
     "start": {"version": 4, "snapshot": true}, "version": 7, "files": 2}

`delta_explorer` is the version of this format, `table` the id of the table in its metadata, and
`feed` says whether its change feed is read. The stream began at version `start.version`: with all
rows of it (`snapshot`), or with its commit. All before `version` has been read, and of it so many
`files`: of a snapshot in the order of modification time and path, of a commit in that of paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeGuard

from explorer.errors import InvalidArgumentError, UnsupportedError, brief

OFFSET_FORMAT: Final = 1

_FORMAT: Final = "delta_explorer"
_OF_DELTA: Final = frozenset({"sourceVersion", "reservoirId", "reservoirVersion"})
_AGAIN: Final = "Give the stream a checkpoint location of its own; startingVersion says from where."


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """The next thing to read: of `version`, what comes after its first `files` files."""

    table: str
    feed: bool
    first: int
    whole: bool
    version: int
    files: int = 0

    @property
    def origin(self) -> StreamOffset:
        """Where the stream began."""
        return replace(self, version=self.first, files=0)

    @property
    def is_origin(self) -> bool:
        """Whether nothing has been read yet."""
        return (self.version, self.files) == (self.first, 0)

    @property
    def in_snapshot(self) -> bool:
        """Whether rows of the version with which the stream begins are still to be read."""
        return self.whole and self.version == self.first

    def after(self, count: int, total: int) -> StreamOffset:
        """When `count` more files of the version have been read, of which it has `total`."""
        files = self.files + count
        if files >= total:
            return replace(self, version=self.version + 1, files=0)
        return replace(self, files=files)

    def as_dict(self) -> dict[str, Any]:
        """As Spark keeps it."""
        return {
            _FORMAT: OFFSET_FORMAT,
            "table": self.table,
            "feed": self.feed,
            "start": {"version": self.first, "snapshot": self.whole},
            "version": self.version,
            "files": self.files,
        }


def true_start(start: StreamOffset, end: StreamOffset) -> StreamOffset:
    """Where a batch with this end begins. Asked again where a stream begins that has begun already,
    Spark gets another answer; the end has kept the first one."""
    return end.origin if start.is_origin else start


def parse_offset(kept: Mapping[str, Any]) -> StreamOffset:
    """What Spark kept; raises `InvalidArgumentError` for what another source wrote, and
    `UnsupportedError` for a format of a later release."""
    found = kept.get(_FORMAT)
    if not _is_number(found):
        raise InvalidArgumentError(
            "The checkpoint location belongs to another source.",
            reason=_whose(kept),
            remedy=_AGAIN,
        )
    if found > OFFSET_FORMAT:
        raise UnsupportedError(
            f"The stream's offsets have format {brief(found)}.",
            reason=f"A later release of delta-explorer wrote them; this one reads {OFFSET_FORMAT}.",
            remedy="Use that release, or another checkpoint location.",
        )
    start = kept.get("start")
    inner: Mapping[str, Any] = start if isinstance(start, Mapping) else {}
    numbers = [inner.get("version"), kept.get("version"), kept.get("files")]
    flags = [inner.get("snapshot"), kept.get("feed")]
    table = kept.get("table")
    counts = [number for number in numbers if _is_number(number)]
    if (
        not isinstance(table, str)
        or not all(type(flag) is bool for flag in flags)
        or len(counts) < len(numbers)
        or counts[0] > counts[1]
    ):
        raise InvalidArgumentError(
            "An offset of the stream cannot be read.",
            reason=f"Spark's checkpoint location has {brief(dict(kept))}.",
            remedy="Restore the checkpoint location from a backup. " + _AGAIN,
        )
    return StreamOffset(
        table=table,
        feed=bool(flags[1]),
        first=counts[0],
        whole=bool(flags[0]),
        version=counts[1],
        files=counts[2],
    )


def _is_number(value: Any) -> TypeGuard[int]:
    return type(value) is int and value >= 0


def _whose(kept: Mapping[str, Any]) -> str:
    if kept.keys() & _OF_DELTA:
        return (
            f"Its offsets are those of Delta Spark's own source: {brief(dict(kept))}. They count "
            "files in another order."
        )
    return f"Its offsets are {brief(dict(kept))}, which this format did not write."
