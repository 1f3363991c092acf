"""Adds, removes and change files that a writer stages.

Spec: Add File and Remove File, Add CDC File.

What is read from a log lies in columns of Arrow instead: there they are many.
Paths are as in the log (URI-encoded), partition values and statistics go by
physical names, times are milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFile:
    """A logical file that becomes part of the table."""

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    modification_time: int
    data_change: bool = True
    stats: str | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    tags: Mapping[str, str | None] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFile:
    """A logical file that leaves the table; it names the file's deletion vector too."""

    path: str
    deletion_timestamp: int
    partition_values: Mapping[str, str | None]
    size: int
    data_change: bool = True
    stats: str | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    tags: Mapping[str, str | None] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCDCFile:
    """A file with the rows that a commit changed."""

    path: str
    partition_values: Mapping[str, str | None]
    size: int
