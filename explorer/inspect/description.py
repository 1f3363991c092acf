"""One table at one version, in figures: the document of `inspect --json`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from explorer.errors import CorruptLogError, DeltaError, Problem, UnsupportedError
from explorer.inspect.answer import MOMENT, Answer
from explorer.inspect.table_features.feature_states import (
    FeatureFacts,
    facts_of_snapshot,
    feature_states,
)
from explorer.inspect.table_features.rule_rows import NAMES as RULE_NAMES
from explorer.inspect.table_features.rule_rows import Rules, rule_rows
from explorer.inspect.table_features.table_rules import validate_table
from explorer.log.few_files import count_few
from explorer.log.folder.segment import LogSegment, build_segment, newest_named
from explorer.log.load import LoadedVersion
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.registry import is_catalog_managed
from explorer.protocol.schema import StructType
from explorer.protocol.table_properties.properties import ignored_properties, validate_properties
from explorer.protocol.values.utc_times import iso_time
from explorer.table.readable import is_of_the_log, newest_readable
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import utc_time

_FIGURES = (
    "num_files",
    "size_in_bytes",
    "num_tombstones",
    "num_rows",
    "num_deleted_rows",
    "num_deletion_vectors",
)


def describe(
    table: Table,
    *,
    version: int | None = None,
    timestamp: datetime | str | None = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> dict[str, Any]:
    """Plain data about the table at a version, at a time, or now.

    Times are ISO 8601 text in UTC; a figure that is not known is None, never 0.
    `file_sizes` has the smallest, median and largest file in bytes. Where the
    table must not be read (a reader feature that is not known, a catalog), its
    protocol, metadata and features are given all the same, the figures are None
    and the refusal stands among `problems`; `may_be_behind` says that a catalog may
    know of newer commits than those published here. `rules` are the rows of
    `explorer.inspect.writer_rules`. Where the newest version that the log names cannot be read,
    and none was asked for, it is the newest that can be: why stands first among `problems`, and
    `unreadable_version` says which one is left out, which is None otherwise.
    """
    try:
        snapshot = table.snapshot(version, timestamp, progress=progress, cancel=cancel)
        _ = snapshot.num_files  # the files of a checkpoint are read when they are asked for
    except UnsupportedError as refusal:
        return _describe_refused(table, version, refusal)
    except DeltaError as error:
        if version is not None or timestamp is not None or not is_of_the_log(error.kind):
            raise
        readable = newest_readable(table, Watch(progress=progress, cancel=cancel))
        if readable is None:
            raise
        return _describe_snapshot(table, readable, error)
    return _describe_snapshot(table, snapshot, None)


def _describe_snapshot(
    table: Table, snapshot: Snapshot, failed: DeltaError | None
) -> dict[str, Any]:
    protocol, metadata = snapshot.protocol, snapshot.metadata
    # read before the problems: looking at the files may find some
    figures = {name: getattr(snapshot, name) for name in _FIGURES}
    sizes = _file_sizes(snapshot)
    side_files = _contradicting_side_files(table, snapshot)
    timestamp, unreadable = _time_of(snapshot)
    schema, contradictions = _contradictions(protocol, metadata)
    rules = Rules(
        protocol=protocol,
        metadata=metadata,
        schema=schema,
        domains=snapshot.domains,
        row_id_high_water_mark=snapshot.row_id_high_water_mark,
    )
    return {
        "uri": snapshot.uri,
        "version": snapshot.version,
        "timestamp": _render_time(timestamp),
        "protocol": _protocol(protocol),
        "metadata": _metadata(metadata),
        **figures,
        "file_sizes": sizes,
        **_segment(snapshot.segment, snapshot.loaded),
        "features": _features(facts_of_snapshot(snapshot, schema)),
        "rules": _rules(rules),
        "may_be_behind": False,
        "unreadable_version": None if failed is None else newest_named(table.listing()),
        "problems": _problems(
            [
                *(() if failed is None else (Problem.of(failed),)),
                *snapshot.problems,
                *unreadable,
                *side_files,
                *contradictions,
            ]
        ),
    }


def _contradicting_side_files(table: Table, snapshot: Snapshot) -> list[Problem]:
    """What the checksum of the version and the hint to the newest checkpoint say otherwise than
    the log; many a log has neither, and what reads them is imported for those that have."""
    found: list[Problem] = []
    if snapshot.version in snapshot.loaded.listing.checksums:
        from explorer.inspect.health.version_checksum import (  # noqa: PLC0415  # see above
            validate_checksum,
        )

        found += validate_checksum(table.store, snapshot)
    if (listing := table.listing()).has_last_checkpoint:
        from explorer.log.folder.last_checkpoint import validate_hint  # noqa: PLC0415  # see above

        found += validate_hint(table.store, listing)
    return found


def _time_of(snapshot: Snapshot) -> tuple[datetime | None, list[Problem]]:
    """When the version was committed; None, and why, where its commit should say so and
    does not: everything else is as sound as if it did."""
    try:
        return snapshot.timestamp, []
    except CorruptLogError as error:
        return None, [Problem.of(error)]


def _describe_refused(
    table: Table, version: int | None, refusal: UnsupportedError
) -> dict[str, Any]:
    protocol, metadata = table.protocol(version), table.metadata(version)
    segment = build_segment(table.listing(), version)
    schema, contradictions = _contradictions(protocol, metadata)
    rules = Rules(protocol=protocol, metadata=metadata, schema=schema, domains=None)
    return {
        "uri": table.uri,
        "version": segment.version,
        "timestamp": _render_time(_time_from_history(table, segment.version)),
        "protocol": _protocol(protocol),
        "metadata": _metadata(metadata),
        **dict.fromkeys(_FIGURES),
        "file_sizes": None,
        **_segment(segment, None),
        "features": _features(
            FeatureFacts(protocol=protocol, metadata=metadata, schema=schema, domains=None)
        ),
        "rules": _rules(rules),
        "may_be_behind": is_catalog_managed(protocol),
        "unreadable_version": None,
        "problems": _problems([Problem.of(refusal), *contradictions]),
    }


def _protocol(protocol: Protocol) -> dict[str, Any]:
    readers, writers = protocol.reader_features, protocol.writer_features
    return {
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "reader_features": None if readers is None else list(readers),
        "writer_features": None if writers is None else list(writers),
        "unknown_fields": sorted(protocol.unknown_fields),
    }


def _metadata(metadata: Metadata) -> dict[str, Any]:
    return {
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "partition_columns": list(metadata.partition_columns),
        "configuration": dict(metadata.configuration),
        "created_time": _render_time(metadata.created_time),
        "format": metadata.format_provider,
        "unknown_fields": sorted(metadata.unknown_fields),
    }


def _segment(segment: LogSegment, loaded: LoadedVersion | None) -> dict[str, Any]:
    """What the version was read from; where it was not read, what it would be."""
    checkpoint = segment.checkpoint
    return {
        "checkpoint": None
        if checkpoint is None
        else {"version": checkpoint.version, "kind": checkpoint.kind},
        "commits_since_checkpoint": len(segment.commits),
        "commits_read": None if loaded is None else loaded.num_read_alone,
        "compactions_read": None if loaded is None else len(loaded.tail.compactions),
    }


def _features(facts: FeatureFacts) -> dict[str, dict[str, bool | str | None]]:
    return {name: asdict(state) for name, state in feature_states(facts).items()}


def _rules(rules: Rules) -> list[dict[str, Any]]:
    return [dict(zip(RULE_NAMES, row, strict=True)) for row in rule_rows(rules)]


def _file_sizes(snapshot: Snapshot) -> dict[str, int] | None:
    if not snapshot.num_files:
        return None
    if (few := count_few(snapshot.loaded)) is not None:
        held = few.sizes
        return {"smallest": held[0], "median": held[(len(held) - 1) // 2], "largest": held[-1]}
    import explorer.compute_functions as pc  # noqa: PLC0415  # takes longer to import than a small table to read

    sizes = snapshot.files(["size"]).column("size")
    ends = pc.min_max(sizes).as_py()
    median = pc.quantile(sizes, 0.5, interpolation="lower")[0].as_py()
    return {"smallest": ends["min"], "median": median, "largest": ends["max"]}


def _contradictions(
    protocol: Protocol, metadata: Metadata
) -> tuple[StructType | None, list[Problem]]:
    """The schema, where it can be read, and what protocol, properties and schema say
    against the specification."""
    schema, problems = validate_table(protocol, metadata)
    problems += validate_properties(metadata.configuration)
    problems += ignored_properties(metadata.configuration)
    return schema, problems


def _problems(problems: Iterable[Problem]) -> list[dict[str, str | None]]:
    # one rule may be broken on two floors; it is told once
    return [problem.as_dict() for problem in dict.fromkeys(problems)]


def _time_from_history(table: Table, version: int) -> datetime | None:
    try:
        newest = table.history(1)
    except DeltaError:
        return None
    if newest.num_rows and newest.column("version")[0].as_py() == version:
        # the value, not `as_py`: turning a timestamp into Python imports pandas
        return utc_time(newest.column("timestamp")[0].value)
    return None


def _render_time(time: datetime | None) -> str | None:
    return None if time is None else iso_time(time)


def _ask(
    table: Table,
    progress: ProgressCallback | None,
    *,
    version: int | None = None,
    timestamp: str | None = None,
) -> dict[str, Any]:
    return describe(table, version=version, timestamp=timestamp, progress=progress)


DESCRIPTION: Final = Answer(
    name="inspect",
    parameters=MOMENT,
    ask=_ask,
    documents=lambda document, _: [document],
)
