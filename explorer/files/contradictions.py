"""Checkpoints that contradict the commits: files that they lack, that they still have though
they were removed, and other settings; and log compactions that do (spec: Checkpoints, Log
Compaction Files, Action Reconciliation).

Readers that use such a checkpoint see other rows than readers of the commits, although
the file itself is intact. Its content is computed a second time, from the
commits and from older checkpoints that do not contradict them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError, DeltaError, NotFoundError
from explorer.log.commits.commit_file import lines_reversed, parse_action
from explorer.log.folder.listing import CheckpointFiles, Compaction, LogListing
from explorer.log.folder.segment import missing_versions
from explorer.log.load import LoadedVersion, load_version
from explorer.log.plain_arrays import FALSE
from explorer.log.reconcile.key_columns import KEY_COLUMNS, keys_of
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.reconcile.tail import replay_commits
from explorer.log.state.key_cache import KeyCache
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.protocol.paths import normalise_path
from explorer.protocol.schema import is_same_schema
from explorer.storage.ports import ReadStore
from explorer.table.counts import count
from explorer.table.files_table import read_files_table

_LABEL: Final = "Comparing checkpoints with the commits"
_SHOWN: Final = 200
_FACTS: Final = {"size": "byte", "num_records": "row"}
"""What both routes say of a file, in what unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A checkpoint that says otherwise than the commits up to it, which begin with the table or
    after an older checkpoint, of version `base`.

    `lacks` are live files that it does not have, `revives` files that it has and that are not
    live, by their paths in the log; `num_differing` live files it has with another size or
    another number of rows; `settings` says what else differs. `evidence` says of one file of
    each where the log names it last.
    """

    checkpoint: CheckpointFiles
    base: int | None
    lacks: tuple[str, ...]
    revives: tuple[str, ...]
    num_lacking: int
    num_revived: int
    settings: tuple[str, ...]
    evidence: tuple[str, ...]
    num_differing: int = 0

    @property
    def problem(self) -> str:
        """What is wrong, in one sentence."""
        parts = []
        if self.num_lacking:
            parts.append(f"it lacks {count(self.num_lacking, 'live file')}")
        if self.num_revived:
            parts.append(f"it has {count(self.num_revived, 'file')} that are not live")
            if self.num_revived == 1:
                parts[-1] = "it has 1 file that is not live"
        if self.num_differing:
            files = count(self.num_differing, "live file")
            parts.append(f"it has {files} with another size or number of rows")
        parts += [f"its {name} differs" for name in self.settings]
        what = " and ".join(parts)
        return (
            f"The checkpoint of version {self.checkpoint.version} contradicts the commits: {what}."
        )

    @property
    def reason(self) -> str:
        """Where that stands."""
        route = (
            "all commits"
            if self.base is None
            else (f"the checkpoint of version {self.base} and the commits after it")
        )
        told = "".join(f" {sentence}" for sentence in self.evidence)
        return f"{self.checkpoint.names[0]} does not hold what {route} come to.{told}"


def find_contradictions(
    store: ReadStore, listing: LogListing, watch: Watch = UNWATCHED
) -> Iterator[Contradiction]:
    """Every complete checkpoint that contradicts the commits up to it, oldest first.

    Nothing is said of one before which commits are missing, and of one that cannot be read.
    Raises what the store does.
    """
    trusted: list[CheckpointFiles] = []
    for done, files in enumerate(listing.checkpoints):
        watch.step(done, len(listing.checkpoints), _LABEL)
        own = _load(store, listing, (files,), files.version, watch)
        if own is None:
            continue
        older = tuple(found for found in trusted if found.version < files.version)
        other = _load(store, listing, older, files.version, watch)
        found = None if other is None else _compare(store, files, own, other)
        if found is None:
            trusted.append(files)
        else:
            yield found


def contradiction_of(
    store: ReadStore, listing: LogListing, files: CheckpointFiles
) -> Contradiction | None:
    """What one checkpoint says otherwise; raises what the store does."""
    upto = tuple(found for found in listing.checkpoints if found.version <= files.version)
    every = find_contradictions(store, replace(listing, checkpoints=upto))
    return next((found for found in every if found.checkpoint == files), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenRemovals:
    """How many removals within retention a checkpoint does not have, though the commits before it
    do; `evidence` says of one where it is."""

    checkpoint: CheckpointFiles
    number: int
    evidence: str


def forgotten_removals(
    store: ReadStore,
    listing: LogListing,
    files: CheckpointFiles,
    after_ms: int,
    watch: Watch = UNWATCHED,
) -> ForgottenRemovals | None:
    """The removals later than a time that a checkpoint has to have, and that it does not have;
    None without any, and where commits before it are missing (spec: Checkpoint Schema)."""
    own = _load(store, listing, (files,), files.version, watch)
    other = _load(store, listing, (), files.version, watch)
    if own is None or other is None:
        return None
    columns = [*KEY_COLUMNS, "deletion_timestamp"]
    removed = read_files_table(other, "remove", columns)
    times = pc.fill_null(removed.column("deletion_timestamp").cast(pa.int64()), 0)
    removed = removed.filter(pc.greater(times, pa.scalar(after_ms)))
    for kind in ("remove", "add"):  # a file that it has as live is another contradiction
        removed = _beyond(removed, read_files_table(own, kind, KEY_COLUMNS))
    path = _first_path(removed)
    if path is None:
        return None
    evidence = _sentence("lacks", path, _last_mention(store, other, path))
    return ForgottenRemovals(checkpoint=files, number=removed.num_rows, evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCompaction:
    """A log compaction that differs from its commits; `reason` names a file, and what is
    said of it."""

    compaction: Compaction
    reason: str


def find_wrong_compactions(
    store: ReadStore, listing: LogListing, watch: Watch = UNWATCHED
) -> Iterator[WrongCompaction]:
    """Every log compaction that can be used, whose commits are there and come to other files.
    Raises what the store does."""
    for compaction in listing.compactions:
        versions = range(compaction.first, compaction.last + 1)
        if missing_versions(listing.commits, compaction.first, compaction.last):
            continue
        try:
            own = replay_commits(store, versions, watch, [compaction])
            other = replay_commits(store, versions, watch)
        except CorruptLogError:
            continue  # such commits are told by whoever reads them
        if own.compactions != (compaction,):
            continue  # it cannot be used, and is told as that
        lacks = _beyond(other.adds, own.adds)
        revives = _beyond(own.adds, other.adds)
        forgets = _still_live(store, listing, compaction, _beyond(other.removes, own.removes))
        for files, what in (
            (lacks, "It lacks {}, which its commits add."),
            (revives, "It adds {}, which is not live after its commits."),
            (forgets, "It does not remove {}, which its commits remove."),
        ):
            if (path := _first_path(files)) is not None:
                reason = what.format(_shown(path))
                yield WrongCompaction(compaction=compaction, reason=reason)
                break


def _still_live(
    store: ReadStore, listing: LogListing, compaction: Compaction, files: pa.Table
) -> pa.Table:
    """Those that were live before the commits of a compaction: others may be left out of it."""
    if not files.num_rows or compaction.first == 0:
        return files.slice(0, 0)
    version = compaction.first - 1
    checkpoints = tuple(found for found in listing.checkpoints if found.version <= version)
    before = _load(store, listing, checkpoints, version, UNWATCHED)
    if before is None:
        return files.slice(0, 0)
    live = keys_of(read_files_table(before, "add", KEY_COLUMNS))
    return files.filter(pc.is_in(keys_of(files), value_set=_set(live)))


def _beyond(files: pa.Table, others: pa.Table) -> pa.Table:
    """Those whose key none of the others has."""
    known = _set(keys_of(others))
    return files.filter(pc.invert(pc.is_in(keys_of(files), value_set=known)))


def _load(
    store: ReadStore,
    listing: LogListing,
    checkpoints: tuple[CheckpointFiles, ...],
    version: int,
    watch: Watch,
) -> LoadedVersion | None:
    """The version by these checkpoints and the commits alone; None where that does not lead to
    it, or not by every checkpoint."""
    only = replace(
        listing,
        checkpoints=checkpoints,
        incomplete_checkpoints=(),
        compactions=(),
        has_last_checkpoint=False,
    )
    try:
        loaded = load_version(store, only, version, KeyCache(0), watch=watch)
        _ = loaded.count("add")
    except (CorruptLogError, NotFoundError) as error:
        if error.kind.startswith("storage"):
            raise
        return None
    return loaded


def _compare(
    store: ReadStore, files: CheckpointFiles, own: LoadedVersion, other: LoadedVersion
) -> Contradiction | None:
    columns = [*KEY_COLUMNS, *_FACTS]
    held, live = (read_files_table(loaded, "add", columns) for loaded in (own, other))
    lacks, revives = _beyond(live, held), _beyond(held, live)
    differing = _differing(held, live)
    settings = tuple(_other_settings(own.small, other.small))
    if not (lacks.num_rows or revives.num_rows or differing.num_rows or settings):
        return None
    first_lacking, first_revived = (_first_path(rows) for rows in (lacks, revives))
    base = other.segment.checkpoint
    evidence = []
    if first_lacking is not None:
        where = _last_mention(store, other, first_lacking)
        evidence.append(_sentence("lacks", first_lacking, where))
    if first_revived is not None:
        where = _last_mention(store, other, first_revived)
        evidence.append(_sentence("still has", first_revived, where))
    if differing.num_rows:
        evidence.append(_other_facts(differing.slice(0, 1).to_pylist()[0]))
    return Contradiction(
        checkpoint=files,
        base=None if base is None else base.version,
        lacks=_paths(lacks),
        revives=_paths(revives),
        num_lacking=lacks.num_rows,
        num_revived=revives.num_rows,
        settings=settings,
        evidence=tuple(evidence),
        num_differing=differing.num_rows,
    )


def _differing(held: pa.Table, live: pa.Table) -> pa.Table:
    """The files of both of which both say a size or a number of rows, and not the same one:
    `path`, and each fact as the checkpoint and the commits have it (`size`, `size_by_commits`).
    A checkpoint need not have statistics."""
    known = keys_of(held)
    at = pc.index_in(known, value_set=_set(keys_of(live)))
    both = held.filter(at.is_valid()).select(["path", *_FACTS])
    theirs = live.take(at.drop_null())
    differs = pa.chunked_array([pa.repeat(FALSE, both.num_rows)])
    for name in _FACTS:
        other = theirs.column(name)
        differs = pc.or_(differs, pc.coalesce(pc.not_equal(both.column(name), other), FALSE))
        both = both.append_column(f"{name}_by_commits", other)
    return both.filter(differs)


def _other_facts(row: Mapping[str, Any]) -> str:
    """What the two say of one file, with the first fact that differs."""
    for name, unit in _FACTS.items():
        held, right = row[name], row[f"{name}_by_commits"]
        if None not in (held, right) and held != right:
            return f"It says {count(held, unit)} of {_shown(row['path'])}, and they say {right:,}."
    return ""


def _set(keys: pa.ChunkedArray) -> pa.Array:
    return keys.combine_chunks() if keys.num_chunks else pa.array([], pa.string())


def _paths(files: pa.Table) -> tuple[str, ...]:
    return tuple(files.column("path").slice(0, _SHOWN).to_pylist())


def _first_path(files: pa.Table) -> str | None:
    return files.column("path")[0].as_py() if files.num_rows else None


def _other_settings(own: SmallActions, other: SmallActions) -> Iterator[str]:
    if _rules(own.protocol) != _rules(other.protocol):
        yield "protocol"
    if own.metadata is None or other.metadata is None:
        if own.metadata is not other.metadata:
            yield "metadata"
        return
    if differing := list(_other_parts(own.metadata, other.metadata)):
        yield f"metadata ({', '.join(differing)})"


def _rules(protocol: Protocol | None) -> tuple[int, int, frozenset[str], frozenset[str]] | None:
    # old writers of checkpoints store the lists of features as empty where there are none
    if protocol is None:
        return None
    return (
        protocol.min_reader_version,
        protocol.min_writer_version,
        frozenset(protocol.reader_features or ()),
        frozenset(protocol.writer_features or ()),
    )


def _other_parts(held: Metadata, right: Metadata) -> Iterator[str]:
    if held.id != right.id:
        yield "id"
    if not is_same_schema(held.schema_string, right.schema_string):
        yield "schema"
    if held.partition_columns != right.partition_columns:
        yield "partition columns"
    if dict(held.configuration) != dict(right.configuration):
        yield "properties"


def _last_mention(store: ReadStore, other: LoadedVersion, path: str) -> tuple[str, int, str] | None:
    """The commit that names a file last, the line, and whether it adds or removes it."""
    wanted = normalise_path(path)
    for version in reversed(other.segment.commits):
        name = render_commit_name(version)
        try:
            data = store.read(render_commit_path(version))
            for line, text in lines_reversed(data):
                action = parse_action(text, name, line)
                for kind in ("add", "remove"):
                    body = action.get(kind)
                    if isinstance(body, Mapping) and _names(body, wanted):
                        return name, line, kind
        except DeltaError:
            return None
    return None


def _names(body: Mapping[str, Any], wanted: str) -> bool:
    path = body.get("path")
    return isinstance(path, str) and normalise_path(path) == wanted


def _sentence(verb: str, path: str, where: tuple[str, int, str] | None) -> str:
    shown = _shown(path)
    if where is None:
        return f"It {verb} {shown}."
    name, line, kind = where
    does = "adds and no later commit removes" if kind == "add" else "removes"
    return f"It {verb} {shown}, which {name}, line {line}, {does}."


def _shown(path: str) -> str:
    return repr(path if len(path) <= 100 else path[:97] + "...")
