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
from explorer.protocol.known_properties import MappingMode
from explorer.protocol.schema import StructField, StructType, parse_schema
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
    """What a staged commit makes of a table: `before` is None for a new one."""

    staged: StagedCommit
    before: Described | None
    after: Described

    @cached_property
    def adds(self) -> pa.Table:
        """Every file that comes, as columns."""
        return self.staged.files("add")

    @cached_property
    def removes(self) -> pa.Table:
        """Every file that goes, as columns."""
        return self.staged.files("remove")

    @property
    def creates(self) -> bool:
        """Whether the table comes into being."""
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
    def looked_at_every_row(self) -> bool:
        """Whether the whole table was read, at a level at which no file comes unseen between
        that and the commit (as `explorer.transaction.conflicts` keeps the levels)."""
        level = self.staged.provenance.isolation_level
        # appends may slip in before a commit at the level between, unless it changes metadata
        hears = level == "Serializable" or (level == "WriteSerializable" and self.changes_metadata)
        return self.staged.reads.whole_table and hears

    @property
    def every_live_file_goes(self) -> bool:
        """Whether all files there will be are those that it brings, which
        `validate_live_files` holds it to."""
        return self.staged.promises.every_live_file_goes

    @property
    def goes_back(self) -> bool:
        """Whether the files there will be are those of an earlier version, whose schema and
        partitioning come back with them, which `validate_live_files` holds it to; none of
        another comes unseen."""
        is_known = self.staged.goes_back_to is not None
        return is_known and self.staged.promises.recommits and self.looked_at_every_row

    @cached_property
    def removed_data(self) -> pa.Table:
        """The removes that take rows away or replace them."""
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

    def brought_in(self, files: pa.Table) -> pa.Table:
        """Those of some adds that say something new: not the ones that stand in the log
        already as they are. Without any remove, an add that changes no data is of a file that
        is there, and was written by whomever (`dataChange` in the schema of the add action)."""
        if self.staged.promises.recommits:
            return files.slice(0, 0)
        if self.removes.num_rows or self.creates or not files.num_rows:
            return files
        return _changing_data(files)

    @cached_property
    def new_files(self) -> pa.Table:
        """The adds of data files that no version knew: what these say is this commit's doing,
        whereas what others wrote may be odd and can still be kept, completed and removed."""
        return self.brought_in(self.files_written)

    @cached_property
    def files_of_new_rows(self) -> pa.Table:
        """The adds that may bring rows that no version had: neither rearranged ones, nor
        files of which only the vector changes, nor what is taken from the log as it is."""
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
