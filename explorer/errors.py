"""The errors and problems that a person may meet.

Everything derives from `DeltaError` and says what is wrong (`problem`), why
(`reason`) and what to do about it (`remedy`). An exception means "cannot go
on"; a table that is merely wrong is described by `Problem` values instead.
"""

from __future__ import annotations

import reprlib
from dataclasses import asdict
from typing import Any, ClassVar, Literal, get_args

from explorer.records import record

ErrorKind = Literal[
    "already_exists",
    "cancelled",
    "catalog_managed",
    "change_feed_unavailable",
    "checkpoint_unusable",
    "commit_conflict",
    "data_corrupt",
    "data_missing",
    "internal_error",
    "invalid_argument",
    "limit_exceeded",
    "log_corrupt",
    "log_empty",
    "log_gap",
    "metadata_missing",
    "missing_dependency",
    "outcome_unknown",
    "plan_not_found",
    "plan_refused",
    "plan_stale",
    "protocol_missing",
    "rows_refused",
    "schema_invalid",
    "schema_mismatch",
    "storage_failed",
    "storage_refused",
    "store_unsupported",
    "table_not_found",
    "timestamp_out_of_range",
    "unsupported_feature",
    "version_not_found",
]
"""The closed list of what `DeltaError.kind` may say."""

ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)


class DeltaError(Exception):
    """Base of all errors of this package.

    `kind` is one of `ERROR_KINDS`; `spec` names the section of the Delta
    transaction log protocol that the error rests on, or is None.
    """

    default_kind: ClassVar[ErrorKind] = "log_corrupt"

    def __init__(
        self,
        problem: str,
        *,
        reason: str,
        remedy: str,
        kind: ErrorKind | None = None,
        spec: str | None = None,
    ) -> None:
        super().__init__(f"{problem} {reason} {remedy}")
        self.kind: ErrorKind = kind or self.default_kind
        self.problem = problem
        self.reason = reason
        self.remedy = remedy
        self.spec = spec

    def as_dict(self) -> dict[str, str | None]:
        """The five public fields, as the command line prints them."""
        return {
            "kind": self.kind,
            "problem": self.problem,
            "reason": self.reason,
            "remedy": self.remedy,
            "spec": self.spec,
        }


class NotFoundError(DeltaError):
    """The table, version or time that was asked for does not exist."""

    default_kind: ClassVar[ErrorKind] = "table_not_found"


class CorruptLogError(DeltaError):
    """The log breaks the protocol in a way that leaves no right answer."""

    default_kind: ClassVar[ErrorKind] = "log_corrupt"


class UnusableCheckpointError(CorruptLogError):
    """A checkpoint that cannot serve; what it holds must be found another way."""

    default_kind = "checkpoint_unusable"


class CorruptDataError(DeltaError):
    """A data file, or a deletion vector, does not hold what the log promises."""

    default_kind: ClassVar[ErrorKind] = "data_corrupt"


class UnsupportedError(DeltaError):
    """The table, or the store, needs something that this reader must not guess."""

    default_kind = "unsupported_feature"


class StorageError(DeltaError):
    """The store refused or failed."""

    default_kind = "storage_failed"


class UntouchedError(StorageError):
    """The store failed before it changed anything, and nothing of the request can appear later."""


class InvalidArgumentError(DeltaError):
    """The caller asked for something that cannot be meant."""

    default_kind = "invalid_argument"


class ConflictError(DeltaError):
    """Another writer was there first."""

    default_kind = "commit_conflict"


class CancelledError(DeltaError):
    """The caller cancelled the work; nothing was changed."""

    default_kind = "cancelled"


@record
class Problem:
    """Something wrong with a table that can still be shown.

    `place` is a log file, with `:line` (1-based) where a line is meant.
    """

    kind: ErrorKind
    problem: str
    reason: str
    remedy: str
    place: str | None = None
    spec: str | None = None

    @classmethod
    def of(cls, error: DeltaError, place: str | None = None) -> Problem:
        """The problem that an error describes, where there is another way on."""
        return cls(
            kind=error.kind,
            problem=error.problem,
            reason=error.reason,
            remedy=error.remedy,
            place=place,
            spec=error.spec,
        )

    def as_dict(self) -> dict[str, str | None]:
        """Plain data, as the command line prints it."""
        return asdict(self)


def brief(value: Any) -> str:
    """A value for a message: cut to some 60 characters however long or deep it is."""
    return _BRIEF.repr(value)


_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 60
