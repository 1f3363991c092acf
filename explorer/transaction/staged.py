"""A commit that is ready but not yet part of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.commit_json import Action, render_action
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.transaction.read_version import ReadVersion

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.log.actions.fields import FileAction
    from explorer.transaction.live_files import EarlierVersion, LiveFiles
    from explorer.transaction.read_set import ReadSet

IsolationLevel = Literal["Serializable", "WriteSerializable", "SnapshotIsolation"]
"""How far a commit is kept apart from others, as the reference defines it: from appends
that it should have seen; from those that read the table themselves; from none."""

Kind = TypeVar("Kind")

# what is asked of its files once, whatever it follows
_ANSWERS = frozenset(
    {
        "_added",
        "_removed",
        "added_keys",
        "removed_keys",
        "read_keys",
        "live_where_it_adds",
        "live_that_stay",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who does what (spec: Commit Provenance Information).

    `transaction_id` is unique to the commit: by it a writer recognises its own
    commit after an unknown outcome. Metrics are strings, as the reference has them.
    """

    operation: str
    transaction_id: str
    engine_info: str
    user_name: str | None = None
    user_metadata: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    isolation_level: IsolationLevel = "Serializable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedRule:
    """A condition that every new row was found to meet before the commit.

    `key` is where the table keeps it: `delta.constraints.NAME`, or the field path and the
    key of a column's rule, as `a.b delta.invariants`; or `delta.enableRowTracking`, when
    every file was found to have row ids, `delta.clustering`, when every file was found to
    have statistics, and `delta.enableIcebergCompatV1` or its successor, when every file was
    found to be one that Iceberg takes. `expression` is its SQL, `every row` of a column that
    is to be NOT NULL and was found to be so (`PATH nullable`), or the domain's configuration,
    empty where there is none, so that a rule that was changed since counts as another one.
    """

    key: str
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What the caller guarantees, because the actions alone do not show it.

    - `validated`: the rules that every new row was checked against; for a rule that the
      commit adds, every row of the table
    - `removes_every_live_file`: no data file that was live stays, as with an overwrite of the
      whole table; columns and partitioning may then change. It is checked: by the removes
      and `live`, and a file that another commit adds meanwhile is a conflict
    - `recommits`: its adds are in the log already as they are, as those of a restore: they
      have no new rows, and other writers computed their statistics
    - `holds_partition_columns`: the data files have the partition columns as well
    - `dropped_features`: the table no longer uses them, in no version that may be read
    - `kept_domains`: domains of the specification that the operation keeps as their
      feature asks; one that a user changes is never among them
    """

    validated: frozenset[ValidatedRule] = frozenset()
    removes_every_live_file: bool = False
    recommits: bool = False
    holds_partition_columns: bool = False
    dropped_features: frozenset[str] = frozenset()
    kept_domains: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class StagedCommit:
    """Actions upon the version that was read, `NO_TABLE` if there was none.

    Few files may be among `actions`; many are `adds` and `removes`, batches with columns
    of `explorer.log.actions.columns` (a column that is left out holds nothing). Fresh row ids and
    commit versions are given when the version is known: a file that has none yet gets
    them, one that comes with them keeps them (spec: Row Tracking).

    `first_read` is the version that was read, where `base` has followed others since. `live`
    are the files of the version that was read, where the caller has them at hand.
    `restored_version` is the version whose columns, partitioning and files come back, where a
    restore changes these: the commit is held to it.
    """

    base: ReadVersion
    reads: ReadSet
    provenance: Provenance
    actions: tuple[Action, ...] = ()
    adds: tuple[pa.RecordBatch, ...] = field(default=(), compare=False)
    removes: tuple[pa.RecordBatch, ...] = field(default=(), compare=False)
    promises: Promises = field(default_factory=Promises)
    first_read: int | None = None
    live: LiveFiles | None = field(default=None, compare=False)
    restored_version: EarlierVersion | None = field(default=None, compare=False)

    @property
    def read_version(self) -> int:
        """The version that its actions were made from."""
        return self.base.version if self.first_read is None else self.first_read

    def upon(self, base: ReadVersion) -> StagedCommit:
        """The same actions upon a later version, which they may follow."""
        found = replace(self, base=base, first_read=self.read_version)
        # its files are the same, and there may be many
        known = _ANSWERS & self.__dict__.keys()
        found.__dict__.update((name, self.__dict__[name]) for name in known)
        return found

    @cached_property
    def added_keys(self) -> pa.ChunkedArray:
        """The paths of its adds, in the form in which paths are compared."""
        return self._keys("add")

    @cached_property
    def removed_keys(self) -> pa.ChunkedArray:
        """The paths of its removes, likewise."""
        return self._keys("remove")

    @cached_property
    def read_keys(self) -> pa.ChunkedArray | None:
        """The paths of the files that were read, likewise; None where these are not named."""
        from explorer.files.store_paths import place_keys  # noqa: PLC0415  # brings Arrow

        paths = self.reads.paths
        return None if paths is None else place_keys(paths, self.base.root)

    @cached_property
    def live_where_it_adds(self) -> pa.Table | None:
        """The live files that lie where it adds one, with every column of an add; None where
        it adds none, or nobody has the live files at hand."""
        if self.live is None or not len(self.added_keys):
            return None
        return self.live.at_paths(self.added_keys)

    @cached_property
    def live_that_stay(self) -> pa.Table | None:
        """The path and vector of live files that it does not remove, under the very key that
        they have in the log; None where nobody has them at hand."""
        from explorer.log.reconcile.key_columns import keys_of  # noqa: PLC0415  # brings Arrow

        return None if self.live is None else self.live.without(keys_of(self.files("remove")))

    def _keys(self, action: FileAction) -> pa.ChunkedArray:
        from explorer.transaction.read_set import path_keys  # noqa: PLC0415  # brings Arrow

        return path_keys(self.files(action), self.base.root)

    @property
    def is_blind_append(self) -> bool:
        """Whether it depends on no row and takes none away."""
        return not (self.reads.reads_rows or self.removes or self.of(RemoveFile))

    @property
    def protocol(self) -> Protocol | None:
        """The protocol of the version that it makes."""
        return next(iter(self.of(Protocol)), self.base.protocol)

    @property
    def metadata(self) -> Metadata | None:
        """The metadata of the version that it makes."""
        return next(iter(self.of(Metadata)), self.base.metadata)

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Its actions of one kind, without those in batches."""
        return [action for action in self.actions if isinstance(action, kind)]

    def files(self, action: FileAction) -> pa.Table:
        """All its adds or removes, with every column of `explorer.log.actions.columns`."""
        return self._added if action == "add" else self._removed

    @cached_property
    def _added(self) -> pa.Table:
        return self._table("add")

    @cached_property
    def _removed(self) -> pa.Table:
        return self._table("remove")

    def _table(self, action: FileAction) -> pa.Table:
        from explorer.transaction.staged_files import complete, table_of_staged  # noqa: PLC0415  # Arrow

        batches = self.adds if action == "add" else self.removes
        kind = AddFile if action == "add" else RemoveFile
        bodies = [render_action(item)[action] for item in self.actions if isinstance(item, kind)]
        return table_of_staged(action, [complete(action, batch) for batch in batches], bodies)
