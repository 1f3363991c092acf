"""What lies below a table's root that Delta does not manage, and where the bytes of the
folder go (spec: Data Files, Deletion Vector File Storage Format, Change Data Files)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.events import CHANGE, FileEvents, read_events
from explorer.files.kept import is_kept, kept_files, links_in_use, names_through_links
from explorer.files.listed import CHANGE_FOLDER, ListedFiles, lie_below, list_files
from explorer.files.store_paths import NOWHERE, Places, file_of_each
from explorer.files.unkept import (
    MAY_GO,
    NEVER_OLD,
    ODD,
    REASONS,
    REMOVED,
    UNDECIDED,
    UNKNOWN_AGE,
    YOUNG,
    Ages,
    UnkeptFiles,
    judge_unkept,
    kept_by_commits,
    partition_names,
    recorded_changes,
    removals_by_commits,
)
from explorer.inspect.answer import LIMIT, Answer, Document
from explorer.inspect.files._folder_wording import folder_sentence
from explorer.inspect.files.log_folder import log_files
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import (
    TIME,
    bool_column,
    int64_column,
    string_column,
    string_scalar,
    time_column,
)
from explorer.log.folder.listing import LogListing
from explorer.log.plain_arrays import Flags, Numbers, read_flags, read_numbers
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.known_properties import DELETED_FILE_RETENTION
from explorer.storage.parquet.decoding_memory import release_memory
from explorer.storage.ports import ReadStore
from explorer.table.frames import sum_of
from explorer.table.retention import milliseconds, retention_floor
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import parse_now, utc_time

COLUMNS: dict[str, Column] = {
    "path": (string_column, pa.string()),
    "kind": (string_column, pa.string()),
    "bytes": (int64_column, pa.int64()),
    "modified": (time_column, TIME),
    "vacuum_deletes": (bool_column, pa.bool_()),
    "deletable_from": (time_column, TIME),
    "reference_deletes": (bool_column, pa.bool_()),
    "reference_from": (time_column, TIME),
    "reason": (string_column, pa.string()),
}
SIZES: dict[str, Column] = {
    "part": (string_column, pa.string()),
    "num_files": (int64_column, pa.int64()),
    "bytes": (int64_column, pa.int64()),
    "meaning": (string_column, pa.string()),
}

_PLACES_AT_ONCE: Final = 250_000

OTHER_TABLE: Final = "file of another Delta table"
ORPHANED_CHANGES: Final = "orphaned change data"
ORPHANED_VECTOR: Final = "orphaned deletion vector"
ORPHAN: Final = "orphaned data file"
ICEBERG: Final = "Iceberg metadata"
MARKER: Final = "marker of a job"
CHECKSUM: Final = "checksum of a file system"
TEMPORARY: Final = "temporary file"
HIDDEN_FILE: Final = "hidden"
OTHER: Final = "other"
ODD_FILE: Final = "link or odd name"

# the first that fits; patterns of paths below the root
_KINDS: Final = (
    (MARKER, r"(?:^|/)_(?:SUCCESS|committed_[^/]*|started_[^/]*)$"),
    (CHECKSUM, r"(?:^|/)\.[^/]*\.crc$"),
    (TEMPORARY, r"(?:^|/)(?:_temporary|\.spark-staging[^/]*|\.tmp[^/]*|_tmp[^/]*)(?:/|$)|\.tmp$"),
    (ICEBERG, r"(?:^|/)metadata/[^/]*\.(?:metadata\.json|avro|text)$"),
    (HIDDEN_FILE, r"(?:^|/)[_.]"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """What lies below a table's root beside what its versions need.

    - `files`, a row per file that no version knows, largest first: `path`, `kind`, `bytes`,
      `modified`; `vacuum_deletes`: ours may delete it now, `deletable_from`: or from then on
      (null: never, as things are); `reference_deletes`: the reference's would now,
      `reference_from`: or from then on (null likewise); `reason`
    - `sizes`: the parts of the folder (live, kept, deletable, orphaned, foreign, log), each
      with `num_files`, `bytes` and its meaning
    - `reference_keeps`: how many of the deletable files the reference's vacuum leaves for now,
      because they were modified within the retention, as a copy does; `reference_keeps_until`:
      when the last of them is old enough for it, None without any
    - `unread`: that the table's retention cannot be read, in a clause; nothing may be deleted then
    """

    uri: str
    version: int
    files: pa.Table
    sizes: pa.Table
    reference_keeps: int = 0
    reference_keeps_until: datetime | None = None
    unread: str | None = None

    @property
    def deletable(self) -> tuple[int, int]:
        """How many files the next vacuum deletes, and their bytes: those that versions needed,
        and those that no version knows."""
        parts = zip(*(self.sizes.column(name).to_pylist() for name in SIZES), strict=True)
        known = {part: (number, size) for part, number, size, _ in parts}
        number, size = known.get("deletable", (0, 0))
        unknown = self.files.filter(self.files.column("vacuum_deletes"))
        return number + unknown.num_rows, size + sum_of(unknown.column("bytes"))

    @property
    def sentence(self) -> str:
        """The answer in a few sentences."""
        return folder_sentence(
            self.files, self.sizes, (self.reference_keeps, self.reference_keeps_until), self.unread
        )


def foreign_files(
    table: Table,
    *,
    now: datetime | str | None = None,
    listed: Callable[[], ListedFiles] | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Folder:
    """Read every commit and list everything below the table's root; `listed` gives what is
    listed already.

    Raises what `Table.snapshot` raises, and `CorruptLogError` where the commits that are left
    cannot be replayed; `UnsupportedError` for a store that cannot list.
    """
    watch = Watch(progress=progress, cancel=cancel)
    now_ms = parse_now(now)
    listing = table.listing()
    snapshot = table.snapshot(progress=progress, cancel=cancel)
    configuration = snapshot.metadata.configuration
    unread = DELETED_FILE_RETENTION.unread_in(configuration)
    ages = _ages(configuration, now_ms)
    cutoff_ms = ages.cutoff_ms
    found = list_files(table.store, watch) if listed is None else listed()
    live, removed, below = _needed(snapshot, found, cutoff_ms)
    release_memory()  # the places of all files, which are done with
    events = _events_of_others(table, listing, below, live | removed, watch)
    further = kept_by_commits(events, cutoff_ms)
    recorded = recorded_changes(snapshot, listing, events)
    changes = NOWHERE if recorded is None else recorded.after(cutoff_ms)
    removed |= _flags(below, further) & ~live
    young = _flags(below, changes) & ~live & ~removed
    watch.step(0, None, "Looking at what no version knows")
    unkept = below.select(pa.chunked_array([pa.array(~(live | removed | young))]), table.store)
    unkept = unkept.filter(unkept.column("bytes").is_valid())
    judged = judge_unkept(
        unkept,
        table.uri,
        [removals_by_commits(events)],
        partition_names(snapshot),
        ages,
        below.tables,
    ).aged_by(recorded)
    known = judged.reasons == REASONS.index(REMOVED)
    known |= _recorded_changes(unkept.column("path"), events, table.uri)
    goes = known & judged.may_go
    theirs = _reference_times(judged, configuration)
    waits = theirs[goes & (theirs > now_ms)]
    changed, rewritten = _measured(below, young, table.store), _sum(unkept, known & ~goes)
    # the log says how many data files there are and how large; of vectors it says neither
    vectors = _live_vectors(below, live, table.store)
    sizes = [
        (
            "live",
            snapshot.num_files + vectors[0],
            snapshot.size_in_bytes + vectors[1],
        ),
        ("kept", *_measured(below, removed, table.store)),
        ("change data", changed[0] + rewritten[0], changed[1] + rewritten[1]),
        ("deletable", *_sum(unkept, goes)),
        *_unknown_sizes(unkept, judged, known),
        ("log", *_log_size(table)),
    ]
    return Folder(
        uri=table.uri,
        version=snapshot.version,
        files=_frame(judged, ~known, theirs, now_ms, below),
        sizes=build_frame(SIZES, [(*row, _MEANINGS[row[0]]) for row in sizes]),
        reference_keeps=len(waits),
        reference_keeps_until=utc_time(int(waits.max())) if len(waits) else None,
        unread=unread,
    )


def _ages(configuration: Mapping[str, str], now_ms: int) -> Ages:
    """What decides by age here, where nothing else is asked for."""
    if DELETED_FILE_RETENTION.unread_in(configuration) is not None:
        return NEVER_OLD
    retention_ms = milliseconds(retention_floor(configuration))
    return Ages(cutoff_ms=now_ms - retention_ms, retention_ms=retention_ms)


def _needed(
    snapshot: Snapshot, listed: ListedFiles, cutoff_ms: int
) -> tuple[Flags, Flags, ListedFiles]:
    """Which files the newest version needs, and which its tombstones keep; then what was listed
    without the links that lead to some of them."""
    kept = kept_files(snapshot, cutoff_ms)
    release_memory()  # reading a checkpoint leaves much of it

    def found(places: Places) -> Flags:
        links = names_through_links(snapshot.store, listed.others, places.names)
        return _flags(listed, places.joined(links))

    live = found(kept.live)
    used = links_in_use(listed.others, kept.places.names)
    others = tuple(path for path in listed.others if path not in used)
    return live, found(kept.removed) & ~live, replace(listed, others=others)


def _events_of_others(
    table: Table, listing: LogListing, listed: ListedFiles, known: Flags, watch: Watch
) -> FileEvents:
    """What the commits say of files that the newest version does not keep: most files of most
    tables are kept, and of those nothing else need be held."""
    others = listed.paths.filter(pa.array(~known)) if len(known) else listed.paths

    def keep(events: pa.Table) -> pa.Table:
        data, vectors = file_of_each(events, table.uri)
        paths = events.column("path")
        # what lies outside of the root may be a file of it by another name, and a path may be
        # written as it is
        mask = pc.or_(data.is_null(), pc.is_in(data, value_set=others))
        mask = pc.or_(mask, pc.is_in(paths, value_set=others))
        if vectors is not None:
            elsewhere = pc.and_(_is_absolute_vector(events), vectors.is_null())
            mask = pc.or_(mask, pc.or_(elsewhere, pc.is_in(vectors, value_set=others)))
        return events.filter(mask)

    return read_events(table.store_at(listing), listing, watch, keep)


def _is_absolute_vector(events: pa.Table) -> pa.ChunkedArray:
    kinds = pc.struct_field(events.column("deletion_vector"), "storage_type")
    return pc.fill_null(pc.equal(kinds, string_scalar("p")), False)  # noqa: FBT003  # a value


def _flags(listed: ListedFiles, places: Places) -> Flags:
    """Which listed files are at these places. A part of the places is looked up at a time: a
    table of a million names takes some hundred megabytes to look names up in."""
    if not len(listed.paths):
        return np.zeros(0, "?")
    found = read_flags(is_kept(listed.paths, replace(places, inside=places.inside.slice(0, 0))))
    for start in range(0, len(places.inside), _PLACES_AT_ONCE):
        some = replace(NOWHERE, inside=places.inside.slice(start, _PLACES_AT_ONCE))
        found |= read_flags(is_kept(listed.paths, some))
    return found


def _recorded_changes(paths: pa.ChunkedArray, events: FileEvents, root: str) -> Flags:
    """Which files the commits that are left name as change data."""
    kinds = events.table.column("kind").to_numpy()
    changes = events.table.filter(pa.array(kinds == CHANGE))
    if not changes.num_rows or not len(paths):
        return np.zeros(len(paths), np.bool_)
    return read_flags(pc.is_in(paths, value_set=file_of_each(changes, root)[0]))


def _measured(listed: ListedFiles, mask: Flags, store: ReadStore) -> tuple[int, int]:
    found = listed.select(pa.chunked_array([pa.array(mask)]), store)
    return found.num_rows, sum_of(found.column("bytes"))


def _live_vectors(listed: ListedFiles, live: Flags, store: ReadStore) -> tuple[int, int]:
    """How many live files of deletion vectors there are, and their bytes."""
    vectors = read_flags(
        pc.match_substring_regex(listed.paths, r"(?:^|/)deletion_vector_[^/]*\.bin$")
    )
    return _measured(listed, vectors & live, store)


def _sum(files: pa.Table, mask: Flags) -> tuple[int, int]:
    sizes = read_numbers(files.column("bytes"))[mask]
    return int(mask.sum()), int(sizes.sum())


def _unknown_sizes(
    unkept: pa.Table, judged: UnkeptFiles, known: Flags
) -> list[tuple[str, int, int]]:
    goes = judged.may_go & ~known
    return [
        ("orphaned", *_sum(unkept, (judged.is_stray & ~known) | goes)),
        ("foreign", *_sum(unkept, ~judged.is_stray & ~known & ~goes)),
    ]


def _log_size(table: Table) -> tuple[int, int]:
    found = log_files(table)
    return found.num_rows, sum_of(found.column("size"))


def _reference_times(judged: UnkeptFiles, configuration: Mapping[str, str]) -> Numbers:
    """From when on the reference's vacuum deletes each file that no name hides from it."""
    if DELETED_FILE_RETENTION.unread_in(configuration) is not None:
        return np.full(judged.files.num_rows, NEVER_OLD.retention_ms)
    own_ms = milliseconds(DELETED_FILE_RETENTION.value_of(configuration))
    found: Numbers = judged.reference_begins_ms + own_ms
    return found


def _frame(
    judged: UnkeptFiles, unknown: Flags, reference_ms: Numbers, now_ms: int, listed: ListedFiles
) -> pa.Table:
    mask = pa.array(unknown)
    files = judged.files.filter(mask)
    reasons = judged.reasons[unknown]
    never = judged.never[unknown]
    theirs = reference_ms[unknown]
    never_theirs = judged.is_hidden[unknown] | (theirs == NEVER_OLD.retention_ms)
    frame = pa.table(
        {
            "path": files.column("path"),
            "kind": _kinds(files.column("path"), reasons, listed.tables),
            "bytes": files.column("bytes"),
            "modified": files.column("modified").cast(TIME),
            "vacuum_deletes": pa.array(reasons < MAY_GO),
            "deletable_from": pa.array(judged.since_ms[unknown], mask=never).cast(TIME),
            "reference_deletes": pa.array(~never_theirs & (theirs <= now_ms)),
            "reference_from": pa.array(theirs, mask=never_theirs).cast(TIME),
            "reason": string_column(list(REASONS)).take(pa.array(reasons)),
        }
    )
    odd: list[tuple[Any, ...]] = [
        (
            path.encode(errors="backslashreplace").decode(),
            ODD_FILE,
            None,
            None,
            False,
            None,
            None,
            None,
            ODD,
        )
        for path in listed.others
    ]
    both = pa.concat_tables([frame.select(list(COLUMNS)), build_frame(COLUMNS, odd)])
    return both.sort_by([("bytes", "descending"), ("path", "ascending")])


def _kinds(paths: pa.ChunkedArray, reasons: Numbers, tables: Collection[str]) -> pa.Array:
    """What each file seems to be, by its name and by what lies above it."""
    names = [OTHER_TABLE]
    masks = [read_flags(lie_below(paths, tables))]
    stray = np.isin(reasons, [REASONS.index(reason) for reason in _STRAYS])
    for kind, pattern in (
        (ORPHANED_CHANGES, rf"^{CHANGE_FOLDER}/"),
        (ORPHANED_VECTOR, _VECTOR),
        (ORPHAN, r"\.parquet$"),
    ):
        names.append(kind)
        masks.append(read_flags(pc.match_substring_regex(paths, pattern)) & stray)
    for kind, pattern in _KINDS:
        names.append(kind)
        masks.append(read_flags(pc.match_substring_regex(paths, pattern)))
    names.append(OTHER)
    codes = np.select(masks, range(len(masks)), len(masks))
    return string_column(names).take(pa.array(codes.astype(np.int64)))


_VECTOR: Final = r"(?:^|/)deletion_vector_[^/]*\.bin$"
_STRAYS: Final = (*REASONS[:MAY_GO], UNKNOWN_AGE, UNDECIDED, YOUNG)
_MEANINGS: Final = {
    "live": "data files and vectors of the latest version",
    "kept": "removed, kept for versions within retention",
    "change data": "change data of commits within retention",
    "deletable": "past retention: the next vacuum deletes it",
    "orphaned": "named nowhere in the remaining log",
    "foreign": "not Delta's: VACUUM never touches it here",
    "log": "everything below _delta_log",
}


def _documents(found: Folder, limit: int | None) -> Iterator[Document]:
    yield {
        "uri": found.uri,
        "version": found.version,
        "sentence": found.sentence,
        "sizes": list(plain_rows(found.sizes)),
        "reference_keeps": found.reference_keeps,
        "reference_keeps_until": found.reference_keeps_until,
        "num_files": found.files.num_rows,
        "files": list(plain_rows(found.files, limit)),
    }


FOREIGN_FILES: Final = Answer(
    name="foreign",
    parameters=(LIMIT,),
    ask=lambda table, progress: foreign_files(table, progress=progress),
    documents=_documents,
    reads="files",
)
