"""What each operation did, as the second half of a sentence: `deleted 505 rows where …`.

The operations are those that Delta Spark, delta-rs and this package record. One that is not among
them is told by its name and by the counts of its actions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from explorer.inspect.commits._predicate_words import read_condition, told_condition
from explorer.protocol.schema_walk import render_path
from explorer.table.counts import count

_NAMED = 3
"""Columns or properties of one commit that are named; the others are counted."""

_LARGEST_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitCounts:
    """What the actions of a commit count; None where they do not say."""

    files_added: int | None = None
    files_removed: int | None = None
    rows_added: int | None = None
    rows_removed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a commit records of itself, and what its actions count."""

    operation: str | None
    parameters: Mapping[str, str | None]
    metrics: Mapping[str, str | None]
    counts: CommitCounts

    def metric(self, *names: str) -> int | None:
        """The first of these metrics that is a count; Spark writes it as text."""
        for name in names:
            text = self.metrics.get(name)
            if text and text.isascii() and text.isdigit() and len(text) <= _LARGEST_DIGITS:
                return int(text)
        return None

    def parameter(self, *names: str) -> str | None:
        """The first of these parameters that says something."""
        return next((text for name in names if (text := self.parameters.get(name))), None)

    def names(self, *parameters: str) -> list[str]:
        """The names in a parameter: a list as JSON, or one name."""
        text = self.parameter(*parameters)
        return [] if text is None else _listed(text)


def told_operation(said: Recorded) -> str:
    """What the commit did, beginning with a verb in the past."""
    name = " ".join((said.operation or "").split())
    if not name:
        return f"committed {_counted(said) or 'actions'}; its operation is not recorded"
    tell = _TOLD.get(name.upper())
    if tell is not None:
        return tell(said)
    counted = _counted(said)
    return f"ran {name[:60]}" + (f": {counted}" if counted else "")


def _counted(said: Recorded) -> str:
    """`6 files added, 332 rows removed`: what the actions count."""
    counts = said.counts
    told = [
        f"{count(number, noun)} {verb}"
        for number, noun, verb in (
            (counts.rows_added, "row", "added"),
            (counts.rows_removed, "row", "removed"),
            (counts.files_added, "file", "added"),
            (counts.files_removed, "file", "removed"),
        )
        if number
    ]
    return ", ".join(told)


def _rows(number: int | None) -> str:
    """`505 rows`, `no rows`, or `rows` where nobody counted."""
    if number is None:
        return "rows"
    return count(number, "row") if number else "no rows"


def _files(number: int | None) -> str:
    return "files" if number is None else count(number, "file") if number else "no files"


def _where(said: Recorded) -> str:
    condition = read_condition(said.parameters.get("predicate"))
    return "" if condition is None else f" where {told_condition(condition)}"


def _known(*numbers: int | None) -> int | None:
    """The first that is known."""
    return next((number for number in numbers if number is not None), None)


def _written(said: Recorded) -> int | None:
    return _known(
        said.metric("numOutputRows", "num_added_rows"),
        said.counts.rows_added,
    )


def _deleted(said: Recorded) -> int | None:
    """Rows that were deleted: where nobody recorded them, files say it only together, since
    those that are removed hold rows that stay, in files that are added."""
    recorded = said.metric("numDeletedRows", "num_deleted_rows")
    added, removed = said.counts.rows_added, said.counts.rows_removed
    if recorded is not None or added is None or removed is None:
        return recorded
    return removed - added if removed >= added else None


def _tell_delete(said: Recorded) -> str:
    number = _deleted(said)
    where = _where(said)
    if where:
        return f"deleted {_rows(number)}{where}"
    return "deleted all rows" if not number else f"deleted all {count(number, 'row')}"


def _tell_update(said: Recorded) -> str:
    # files that were added hold the rows that stayed as they were, too
    number = said.metric("numUpdatedRows", "num_updated_rows")
    where = _where(said)
    if where or number == 0:
        return f"updated {_rows(number)}{where}"
    return "updated all rows" if number is None else f"updated all {count(number, 'row')}"


def _tell_merge(said: Recorded) -> str:
    parts = [
        (verb, said.metric(f"numTargetRows{name}", f"num_target_rows_{name.lower()}"))
        for verb, name in (("inserted", "Inserted"), ("updated", "Updated"), ("deleted", "Deleted"))
    ]
    changed = [(verb, number) for verb, number in parts if number]
    condition = read_condition(said.parameters.get("predicate"))
    by = " by a merge" if condition is None else f" by a merge on {told_condition(condition)}"
    if all(number is None for _, number in parts):
        counted = _counted(said)
        return f"changed rows{by}" + (f": {counted}" if counted else "")
    if not changed:
        return f"changed no rows{by}"
    told = [f"{verb} {number:,}" for verb, number in changed]
    noun = "row" if changed[-1][1] == 1 else "rows"
    return f"{_joined(told)} {noun}{by}"


def _tell_write(said: Recorded) -> str:
    mode = (said.parameter("mode") or "").casefold()
    rows = _rows(_written(said))
    if mode == "overwrite":
        where = _where(said)
        if where:
            return f"overwrote the rows{where} with {rows}"
        dynamic = (said.parameter("partitionOverwriteMode") or "").casefold() == "dynamic"
        if dynamic or said.parameter("dynamicPartitionOverwrite") == "true":
            return f"overwrote partitions with {rows}"
        return f"overwrote the table with {rows}"
    return f"added {rows}"


def _tell_stream(said: Recorded) -> str:
    mode = (said.parameter("outputMode") or "").casefold()
    batch = said.parameter("epochId", "batchId")
    of = f", batch {batch[:20]}" if batch is not None else ""
    rows = _rows(_written(said))
    if mode == "complete":
        return f"overwrote the table from a stream with {rows}{of}"
    return f"added {rows} from a stream{of}"


def _tell_truncate(said: Recorded) -> str:
    number = _deleted(said)
    return "deleted all rows" if not number else f"deleted all {count(number, 'row')}"


def _tell_optimize(said: Recorded) -> str:
    removed = _known(said.metric("numRemovedFiles", "numFilesRemoved"), said.counts.files_removed)
    added = _known(said.metric("numAddedFiles", "numFilesAdded"), said.counts.files_added)
    columns = said.names("zOrderBy") or said.names("clusterBy")
    order = f", ordered by {_joined(_quoted(columns[:_NAMED]))}" if columns else ""
    if removed == 0 and added == 0:
        return "optimized no files"
    if removed is None or added is None:
        return f"rewrote files without changing rows{order}{_where(said)}"
    return (
        f"rewrote {count(removed, 'file')} into {added:,} without changing rows"
        f"{order}{_where(said)}"
    )


def _tell_reorg(said: Recorded) -> str:
    removed = _known(said.metric("numRemovedFiles"), said.counts.files_removed)
    return f"rewrote {_files(removed)} (REORG) without changing rows{_where(said)}"


def _tell_vacuum_start(said: Recorded) -> str:
    number = said.metric("numFilesToDelete", "num_files_to_delete")
    return f"started to vacuum: {_files(number)} to delete from storage"


def _tell_vacuum_end(said: Recorded) -> str:
    number = said.metric("numDeletedFiles", "num_deleted_files")
    status = said.parameter("status")
    failed = status is not None and status.upper() != "COMPLETED"
    told = f"vacuumed {_files(number)} from storage"
    return f"{told}, which ended as {status[:40]}" if failed and status else told


def _tell_restore(said: Recorded) -> str:
    version, moment = said.parameter("version"), said.parameter("timestamp")
    told = "restored an earlier version"
    if version is not None:
        told = f"restored version {version[:20]}"
    elif moment is not None:
        told = f"restored the table as of {moment[:40]}"
    added = _known(said.metric("numRestoredFiles"), said.counts.files_added)
    removed = _known(said.metric("numRemovedFiles"), said.counts.files_removed)
    if added is None or removed is None:
        return told
    return f"{told}: {count(added, 'file')} restored, {removed:,} removed"


def _tell_clone(said: Recorded) -> str:
    kind = "shallowly cloned" if said.parameter("isShallow") == "true" else "cloned"
    source, version = said.parameter("source"), said.parameter("sourceVersion")
    told = f"{kind} {source[:120] if source else 'another table'}"
    return told if version is None else f"{told} at version {version[:20]}"


def _tell_convert(said: Recorded) -> str:
    files = _known(said.metric("numConvertedFiles"), said.counts.files_added)
    made = said.parameter("sourceFormat") or "Parquet"
    return f"converted {_files(files)} of {made[:40]} to a Delta table"


def _tell_creation(verb: str) -> Callable[[Recorded], str]:
    def tell(said: Recorded) -> str:
        number = _written(said)
        columns = said.names("partitionBy")
        by = f", partitioned by {_joined(_quoted(columns[:_NAMED]))}" if columns else ""
        rows = f" with {_rows(number)}" if number else ""
        return f"{verb} the table{rows}{by}"

    return tell


def _tell_properties(said: Recorded) -> str:
    pairs = _object(said.parameter("properties"))
    told = [f"{name} = {value}"[:120] for name, value in list(pairs.items())[:_NAMED]]
    if not told:
        return "set table properties"
    return f"set {_joined([*told, *_others(len(pairs), 'property', 'properties')])}"


def _tell_unset(said: Recorded) -> str:
    names = said.names("properties")
    return f"removed the {_many(names, 'property', 'properties')}"


def _tell_columns(verb: str) -> Callable[[Recorded], str]:
    def tell(said: Recorded) -> str:
        return f"{verb} the {_many(_column_names(said), 'column', 'columns')}"

    return tell


def _tell_rename(said: Recorded) -> str:
    old, new = said.parameter("oldColumnPath"), said.parameter("newColumnPath")
    if old is None or new is None:
        return "renamed a column"
    return f"renamed the column {old[:120]} to {new[:120]}"


def _tell_protocol(said: Recorded) -> str:
    found = _object(said.parameter("newProtocol"))
    reader, writer = found.get("minReaderVersion"), found.get("minWriterVersion")
    if type(reader) is not int or type(writer) is not int:  # true is none
        return "changed the protocol"
    lists = [found.get(key) for key in ("readerFeatures", "writerFeatures")]
    features = {
        name[:80]
        for names in lists
        if isinstance(names, list)
        for name in names
        if isinstance(name, str)
    }
    told = f"changed the protocol to reader {reader}, writer {writer}"
    if not features:
        return told
    shown = sorted(features)[:_NAMED]
    named = _joined([*shown, *_others(len(features), "feature", "features")])
    return f"{told} with {named}"


def _tell_feature(verb: str) -> Callable[[Recorded], str]:
    def tell(said: Recorded) -> str:
        names = said.names("featureName", "name", "feature")
        return f"{verb} the {_many(names, 'table feature', 'table features')}"

    return tell


def _tell_constraint(said: Recorded) -> str:
    name, rule = said.parameter("name"), said.parameter("expr")
    told = f"added the constraint {name[:80]}" if name else "added a constraint"
    return f"{told}: {rule[:200]}" if rule else told


def _tell_dropped_constraint(said: Recorded) -> str:
    name = said.parameter("name", "constraintName")
    return f"dropped the constraint {name[:80]}" if name else "dropped a constraint"


def _tell_cluster(said: Recorded) -> str:
    old, new = said.parameter("oldClusteringColumns"), said.parameter("newClusteringColumns")
    after = f"to {new[:120]}" if new else "to none"
    return f"changed the clustering columns {f'from {old[:120]} ' if old else ''}{after}"


def _tell_repair(said: Recorded) -> str:
    number = _known(
        said.metric("numMissingFiles", "numRemovedFiles", "num_removed_files"),
        said.counts.files_removed,
    )
    return f"removed {_files(number)} from the log that are missing in storage (FSCK)"


def _tell_program(said: Recorded) -> str:
    counted = _counted(said)
    return "committed by a program" + (f": {counted}" if counted else "")


def _plain(text: str) -> Callable[[Recorded], str]:
    return lambda _: text


_TOLD: Mapping[str, Callable[[Recorded], str]] = {
    "ADD COLUMN": _tell_columns("added"),
    "ADD COLUMNS": _tell_columns("added"),
    "ADD CONSTRAINT": _tell_constraint,
    "ADD DELETION VECTORS TOMBSTONES": _plain("recorded which deletion vectors are no longer used"),
    "ADD FEATURE": _tell_feature("added"),
    "CHANGE COLUMN": _tell_columns("changed"),
    "CHANGE COLUMNS": _tell_columns("changed"),
    "CLONE": _tell_clone,
    "CLUSTER BY": _tell_cluster,
    "COMPUTE STATS": _plain("computed statistics of files"),
    "CONVERT": _tell_convert,
    "COPY INTO": _tell_write,
    "CREATE OR REPLACE TABLE": _tell_creation("created or replaced"),
    "CREATE OR REPLACE TABLE AS SELECT": _tell_creation("created or replaced"),
    "CREATE TABLE": _tell_creation("created"),
    "CREATE TABLE AS SELECT": _tell_creation("created"),
    "DELETE": _tell_delete,
    "DELETION VECTOR TOMBSTONES": _plain("recorded which deletion vectors are no longer used"),
    "DOMAIN METADATA CLEANUP": _plain("removed metadata domains"),
    "DROP COLUMNS": _tell_columns("dropped"),
    "DROP CONSTRAINT": _tell_dropped_constraint,
    "DROP FEATURE": _tell_feature("dropped"),
    "EMPTY COMMIT": _plain("committed nothing"),
    "FSCK": _tell_repair,
    "MANUAL UPDATE": _tell_program,
    "MERGE": _tell_merge,
    "OPTIMIZE": _tell_optimize,
    "REMOVE COLUMN MAPPING": _plain("rewrote the table without column mapping"),
    "RENAME COLUMN": _tell_rename,
    "REORG": _tell_reorg,
    "REORG TABLE UPGRADE UNIFORM": _tell_reorg,
    "REPLACE COLUMNS": _tell_columns("replaced"),
    "REPLACE TABLE": _tell_creation("replaced"),
    "REPLACE TABLE AS SELECT": _tell_creation("replaced"),
    "RESTORE": _tell_restore,
    "ROW TRACKING BACKFILL": _plain("gave row ids to files that had none"),
    "ROW TRACKING UNBACKFILL": _plain("removed row ids from files"),
    "SET TBLPROPERTIES": _tell_properties,
    "STREAMING UPDATE": _tell_stream,
    "TRUNCATE": _tell_truncate,
    "UNSET TBLPROPERTIES": _tell_unset,
    "UPDATE": _tell_update,
    "UPDATE COLUMN METADATA": _tell_columns("changed the metadata of"),
    "UPDATE FIELD METADATA": _tell_columns("changed the metadata of"),
    "UPDATE SCHEMA": _plain("changed the schema"),
    "UPDATE TABLE METADATA": _plain("changed the table's name or description"),
    "UPGRADE PROTOCOL": _tell_protocol,
    "VACUUM END": _tell_vacuum_end,
    "VACUUM START": _tell_vacuum_start,
    "WRITE": _tell_write,
}


_APART = re.compile(r"[\s,]")


def _column_names(said: Recorded) -> list[str]:
    """The columns that the parameters name: as names, or as fields of a schema."""
    found = _parsed(said.parameter("columns", "column", "fields"))
    entries = found if isinstance(found, list) else [found]
    names = [name for entry in entries if (name := _column_name(entry)) is not None]
    if names:
        return names
    return said.names("columns", "column", "fieldName")


def _column_name(entry: Any) -> str | None:
    if isinstance(entry, dict):
        inner = entry.get("column", entry)
        entry = inner.get("name") if isinstance(inner, dict) else inner
    return entry if isinstance(entry, str) and entry else None


def _many(names: Sequence[str], one: str, many: str) -> str:
    """`columns a, b and 4 more`, `column a`; the noun alone where none is named."""
    if not names:
        return many
    shown = _quoted([name[:80] for name in names[:_NAMED]])
    return f"{one if len(names) == 1 else many} {_joined([*shown, *_others(len(names))])}"


def _others(number: int, one: str = "", many: str = "") -> list[str]:
    left = number - _NAMED
    if left <= 0:
        return []
    return [" ".join(f"{left:,} more {one if left == 1 else many}".split())]


def _quoted(names: Sequence[str]) -> list[str]:
    """Names of which one with a space or a comma is not taken for two, written as in SQL."""
    return [render_path((name,)) if _APART.search(name) else name for name in names]


def _joined(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _listed(text: str) -> list[str]:
    found = _parsed(text)
    if isinstance(found, list):
        return [name for name in found if isinstance(name, str)]
    return [] if text in {"[]", "{}", "null"} else [text]


def _object(text: str | None) -> dict[str, Any]:
    found = _parsed(text)
    return found if isinstance(found, dict) else {}


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
