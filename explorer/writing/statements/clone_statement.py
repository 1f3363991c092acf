"""A table that begins with the files of another one, which stay where they are: a shallow clone
(spec: Add File and Remove File, Deletion Vectors, Row Tracking).

As the reference clones: protocol, columns, layout and properties are the source's, the id is new,
name and description stay behind, and so do history, transactions and row ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.log.actions.columns import (
    ADD_COLUMNS,
    bool_column,
    int64_column,
    string_column,
    string_scalar,
)
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN
from explorer.protocol.features.registry import is_catalog_managed
from explorer.protocol.paths import encode_path, is_absolute
from explorer.protocol.vectors.deletion_vectors import parse_relative_place
from explorer.rows.data_file.data_file import store_path
from explorer.storage.location import canonical_place, is_below, parse_location
from explorer.storage.ports import WriteStore
from explorer.table.snapshot import Snapshot
from explorer.table.times import Clock, system_clock, utc_time
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import WHOLE_TABLE
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.requirements import check_commit
from explorer.transaction.staged import Promises, Provenance, StagedCommit
from explorer.writing.commits.after_commit import follow_commit
from explorer.writing.commits.commit_rows import commit_rows
from explorer.writing.commits.provenance import engine_info
from explorer.writing.schema.cloned_table import build_cloned_table
from explorer.writing.statements.create_statement import already_there
from explorer.writing.statements.new_place import check_new_place
from explorer.writing.statements.options import WriteResult
from explorer.writing.statements.row_statement import Target, open_target

CLONE: Final = "CLONE"
"""The operation, as the reference calls it."""

_OF_ROWS: Final = ("base_row_id", "default_row_commit_version")
_BY_PATH: Final = string_scalar("p")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneStatement:
    """A clone of `source`, whose folder is `root` as a log names it, that is ready to be committed
    at `target`, where there is no table yet. `adds` are its files."""

    target: Target
    source: Snapshot
    root: str
    protocol: Protocol
    metadata: Metadata
    domains: tuple[DomainMetadata, ...]
    adds: pa.Table
    user_metadata: str | None = None
    user_name: str | None = None
    id: UUID = field(default_factory=uuid4)
    clock: Clock = system_clock

    def commit(self, watch: Watch = UNWATCHED) -> WriteResult:
        """Make it version 0 of the clone; raises `InvalidArgumentError` of the kind
        `already_exists` where a table came into being meanwhile, and what `commit_rows` raises."""
        store, staged = self.target.store, self._stage()
        found = commit_rows(store, staged, (), clock=self.clock, watch=watch)
        if isinstance(found, Conflict):
            raise already_there(store.uri, found.version)
        after = follow_commit(
            store, self.target.table, found.version, utc_time(self.clock()), watch
        )
        return WriteResult(
            version=found.version,
            operation=CLONE,
            metrics={name: int(value) for name, value in staged.provenance.metrics.items()},
            problems=(*found.warnings, *after),
        )

    def check(self) -> None:
        """Raise what the rules of writers say against it."""
        check_commit(self._stage())

    def _stage(self) -> StagedCommit:
        source = self.source
        size, count = str(source.size_in_bytes), str(self.adds.num_rows)
        return StagedCommit(
            base=NO_TABLE,
            reads=WHOLE_TABLE,
            provenance=Provenance(
                operation=CLONE,
                transaction_id=str(self.id),
                engine_info=engine_info(),
                user_name=self.user_name,
                user_metadata=self.user_metadata,
                parameters={
                    "source": f"delta.`{place_in_a_log(source.uri, is_encoded=False)}`",
                    "sourceVersion": source.version,
                },
                metrics={
                    "sourceTableSize": size,
                    "sourceNumOfFiles": count,
                    **dict.fromkeys(("numRemovedFiles", "removedFilesSize"), "0"),
                    **dict.fromkeys(("numCopiedFiles", "copiedFilesSize"), "0"),
                },
            ),
            actions=(self.metadata, self.protocol, *self.domains),
            adds=tuple(self.adds.to_batches()) if self.adds.num_rows else (),
            # its files are in a log already as they are, and have no new rows
            promises=Promises(
                recommits=True, kept_domains=frozenset(item.domain for item in self.domains)
            ),
        )


def begin_clone(  # noqa: PLR0913  # what is cloned, and what makes it repeatable
    store: WriteStore,
    source: Snapshot,
    *,
    properties: Mapping[str, str | bool | int] | None = None,
    user_metadata: str | None = None,
    user_name: str | None = None,
    clock: Clock = system_clock,
    ids: Callable[[], UUID] = uuid4,
) -> CloneStatement:
    """A clone of one version of a table, to be made where `store` is.

    Raises `InvalidArgumentError` where there is a table already (of the kind `already_exists`),
    where one table would lie in the folder of the other, and for properties that a clone cannot
    have; and `UnsupportedError` where the files could not be read from there, and where a rule of
    writers forbids it.
    """
    target = open_target(store)
    if target.snapshot is not None:
        raise already_there(store.uri, target.snapshot.version)
    check_new_place(store)
    if is_catalog_managed(source.protocol):
        raise UnsupportedError(
            f"{source.uri} cannot be cloned.",
            reason="A catalog decides which of its commits count; its files may lag behind.",
            remedy="Clone it with the catalog's engine.",
        )
    root = _check_places(store, source)
    protocol, metadata = build_cloned_table(source.protocol, source.metadata, properties or {}, ids)
    held = source.domains.get(CLUSTERING_DOMAIN)
    statement = CloneStatement(
        target=target,
        source=source,
        root=root,
        protocol=protocol,
        metadata=metadata,
        domains=() if held is None or held.removed else (held,),
        adds=_with_places(source.physical_files("add", list(ADD_COLUMNS)), root),
        user_metadata=user_metadata,
        user_name=user_name,
        id=ids(),
        clock=clock,
    )
    statement.check()
    return statement


def place_in_a_log(uri: str, *, is_encoded: bool = True) -> str:
    """A table's folder as absolute paths of a log begin: `/a b` becomes `file:/a%20b`."""
    place = f"file:{uri}" if uri.startswith("/") else uri
    return encode_path(place) if is_encoded else place


def _with_places(files: pa.Table, root: str) -> pa.Table:
    """The live files of a table with absolute paths, and without ids of rows: the commit gives
    these."""
    paths = files.column("path")
    texts = (path if is_absolute(path) else f"{root}/{path}" for path in paths.to_pylist())
    changed: dict[str, pa.Array] = {
        "path": string_column(list(texts)),
        "data_change": bool_column([True] * files.num_rows),
        **{name: int64_column([None] * files.num_rows) for name in _OF_ROWS},
    }
    vectors = files.column("deletion_vector").combine_chunks()
    if vectors.null_count < len(vectors):
        changed["deletion_vector"] = _vectors_with_places(vectors, root)
    for name, column in changed.items():
        files = files.set_column(files.schema.get_field_index(name), name, column)
    return files


def _vectors_with_places(vectors: pa.Array, root: str) -> pa.Array:
    """Descriptors whose files below the root are named by their whole path."""
    kinds = pc.struct_field(vectors, "storage_type")
    places = pc.struct_field(vectors, "path_or_inline_dv")
    is_relative = pc.coalesce(pc.equal(kinds, string_scalar("u")), bool_column([False])[0])
    known: dict[str, str] = {}

    def whole(place: str) -> str:
        # many vectors are in one file
        if place not in known:
            known[place] = f"{root}/{encode_path(parse_relative_place(place))}"
        return known[place]

    named = string_column([whole(place) for place in places.filter(is_relative).to_pylist()])
    columns = dict(zip(vectors.type.names, vectors.flatten(), strict=True))
    columns["storage_type"] = pc.if_else(is_relative, _BY_PATH, kinds)
    columns["path_or_inline_dv"] = pc.replace_with_mask(places, is_relative, named)
    return pa.StructArray.from_arrays(
        [columns[name] for name in vectors.type.names],
        fields=list(vectors.type),
        mask=vectors.is_null(),
    )


def _check_places(store: WriteStore, source: Snapshot) -> str:
    """The source's folder as the clone's log names it."""
    here, there = (canonical_place(parse_location(uri)) for uri in (store.uri, source.uri))
    if is_below(here, there) or is_below(there, here):
        raise InvalidArgumentError(
            f"{store.uri} and {source.uri} lie one in the other.",
            reason="Whoever cleans up the outer table would delete files of the inner one.",
            remedy="Clone to a folder of its own, beside the table.",
        )
    root = place_in_a_log(source.uri)
    try:
        reached = store_path(store, root)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"A clone at {store.uri} could not be read.",
            reason=f"Its files stay at {source.uri}, in another store, where the credentials of "
            "the clone are not sent.",
            remedy="Clone within one store, or write the rows to a table of their own.",
            kind="store_unsupported",
            spec="Add File and Remove File",
        ) from error
    if store.has_folder(reached):
        return root
    raise UnsupportedError(
        f"A clone at {store.uri} could not be read.",
        reason=f"From there nothing is found at {root[:500]}, by which its log would name files.",
        remedy="Open the source by the whole path of its folder.",
        kind="store_unsupported",
        spec="Add File and Remove File",
    )
