"""A commit as the rules of writers look at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError, ErrorKind, Problem
from explorer.log.plain_arrays import TRUE
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.features.registry import FEATURES, supported_features
from explorer.protocol.features.table_feature import TableFacts
from explorer.protocol.schema import StructField, StructType, parse_schema
from explorer.protocol.table_properties.known_properties import MappingMode
from explorer.transaction.read_version import NO_TABLE

if TYPE_CHECKING:
    from explorer.transaction.staged import StagedCommit


@dataclass(frozen=True, kw_only=True)
class Described:
    """A protocol and metadata, and the schema that these hold; an unreadable one is empty."""

    protocol: Protocol
    metadata: Metadata

    @cached_property
    def schema(self) -> StructType:
        """The columns."""
        try:
            return parse_schema(self.metadata.schema_string)
        except DeltaError:
            return StructType(fields=())

    @property
    def mode(self) -> MappingMode:
        """How columns are found in files."""
        return column_mapping_mode(self.protocol, self.metadata.configuration)

    def supports(self, name: str) -> bool:
        """Whether the protocol has a feature, by the name of its entry."""
        return name in self._supported

    def has_active(self, name: str) -> bool:
        """Whether a feature is supported and in use."""
        return name in self._supported and FEATURES[name].is_active(self._facts)

    @cached_property
    def _supported(self) -> frozenset[str]:
        return frozenset(supported_features(self.protocol))

    @cached_property
    def _facts(self) -> TableFacts:
        return TableFacts(metadata=self.metadata, schema=self.schema)

    @property
    def partition_fields(self) -> list[StructField]:
        """The columns that partition it, in the order of the metadata."""
        by_name = {field.name: field for field in self.schema.fields}
        names = self.metadata.partition_columns
        return [by_name[name] for name in names if name in by_name]

    def physical_name(self, field: StructField) -> str:
        """The name of a column in the log."""
        return physical_name(field, self.mode)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A staged commit with the table before and after it; `before` is None for a new table."""

    staged: StagedCommit
    before: Described | None
    after: Described

    @cached_property
    def adds(self) -> pa.Table:
        """Every added file, as columns."""
        return self.staged.files("add")

    @cached_property
    def removes(self) -> pa.Table:
        """Every removed file, as columns."""
        return self.staged.files("remove")

    @property
    def creates(self) -> bool:
        """Whether the commit creates the table."""
        return self.staged.base.version == NO_TABLE.version

    @cached_property
    def changes_metadata(self) -> bool:
        """Whether it writes a metaData action."""
        return bool(self.staged.of(Metadata))

    @cached_property
    def changes_protocol(self) -> bool:
        """Whether it writes a protocol action."""
        return bool(self.staged.of(Protocol))

    @cached_property
    def has_read_every_row(self) -> bool:
        """Whether the whole table was read, at an isolation level at which a file that is added
        before the commit is a conflict (see `explorer.transaction.conflicts`)."""
        level = self.staged.provenance.isolation_level
        # appends may slip in before a commit at the level between, unless it changes metadata
        hears = level == "Serializable" or (level == "WriteSerializable" and self.changes_metadata)
        return self.staged.reads.whole_table and hears

    @property
    def removes_every_live_file(self) -> bool:
        """Whether the live files afterwards are only those that it adds, which
        `validate_live_files` checks."""
        return self.staged.promises.removes_every_live_file

    @property
    def is_restore(self) -> bool:
        """Whether the live files afterwards are those of an earlier version, whose schema and
        partitioning are restored with them, which `validate_live_files` checks."""
        is_known = self.staged.restored_version is not None
        return is_known and self.staged.promises.recommits and self.has_read_every_row

    @cached_property
    def removed_data(self) -> pa.Table:
        """The removes that delete rows or replace them."""
        return _changing_data(self.removes)

    @cached_property
    def files_written(self) -> pa.Table:
        """The adds whose data files were written for this commit, going by their paths."""
        if self.staged.promises.recommits or not self.adds.num_rows:
            return self.adds.slice(0, 0)
        if not self.removes.num_rows:
            return self.adds
        known = pc.is_in(self.staged.added_keys, value_set=self.staged.removed_keys)
        return self.adds.filter(pc.invert(known))

    def newly_added(self, files: pa.Table) -> pa.Table:
        """The adds of `files` that are not in the log already as they are. In a commit without
        removes, an add that changes no data is of a live file, which anyone may have written
        (`dataChange` in the schema of the add action)."""
        if self.staged.promises.recommits:
            return files.slice(0, 0)
        if self.removes.num_rows or self.creates or not files.num_rows:
            return files
        return _changing_data(files)

    @cached_property
    def new_files(self) -> pa.Table:
        """The adds of data files that no earlier version had: this commit is responsible for
        their content. Files of other writers may break rules, and can still be kept, completed
        and removed."""
        return self.newly_added(self.files_written)

    @cached_property
    def files_of_new_rows(self) -> pa.Table:
        """The adds that may have new rows: not rearranged ones, nor files whose deletion vector
        alone changes, nor those taken from the log as they are."""
        return _changing_data(self.files_written)


def _changing_data(files: pa.Table) -> pa.Table:
    changing = pc.coalesce(files.column("data_change"), TRUE)
    # to filter a handful of rows of so many columns takes as long as some rules do
    if not files.num_rows or pc.all(changing).as_py():
        return files
    return files.filter(changing)


def problem(
    text: str, reason: str, *, spec: str, remedy: str, kind: ErrorKind = "unsupported_feature"
) -> Problem:
    """One rule that a commit breaks."""
    return Problem(kind=kind, problem=text, reason=reason, remedy=remedy, spec=spec)


Problems = Iterator[Problem]
REPORT = "This is a mistake of the operation that made the commit: report it."
"""What to do where no user could have known better."""


def shown(names: list[str]) -> str:
    """A few names of many, cut."""
    texts = [f"`{name[:120]}`" for name in names[:5]]
    more = len(names) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")
