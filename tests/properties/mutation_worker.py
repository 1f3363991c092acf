"""Opens mutated logs, one after the other, and says of each how it ended.

A process of its own, so that a crash of native code, a hang or a flood of memory
is seen from outside and stops nothing but itself:

    python -m tests.properties.mutation_worker KIND FIRST COUNT
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import explorer
import explorer.inspect as look
from explorer.errors import ERROR_KINDS, DeltaError
from explorer.log.commits import info_columns, prefetched_columns, recorded_infos
from explorer.log.folder.segment import LogSegment
from explorer.rows.changes.feed import plan_feed
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from tests.conftest import CORPUS
from tests.properties.mutations import KINDS, Kind, Mutation, copy_log, mutate
from tests.reconciliation import RowwiseState, reconcile, unique_id

_CEILING = 6 * 2**30
_LARGE_FILE = prefetched_columns.LARGE_FILE
_SWITCHES = [
    (prefetched_columns, "ENOUGH"),
    (prefetched_columns, "ENOUGH_SMALL"),
    (prefetched_columns, "ENOUGH_JOINED"),
    (recorded_infos, "ENOUGH"),
    (info_columns, "FEWEST"),
]
_QUESTIONS_PER_CASE = 4  # of all that may be asked; other cases ask the others
_IN_MEMORY = Path("/dev/shm")  # half of a case is copying a log
_PARQUET_MR = re.compile(r"parquet-mr version 1\.(\d+)\.")


class UnreadableLogError(Exception):
    """The reference cannot read what it was given."""


def tables(kind: Kind) -> list[Path]:
    """The corpus tables that have something to mutate, in a fixed order."""
    found = sorted(place.parent for place in (CORPUS / "tables").glob("*/_delta_log"))
    if kind != "parquet":
        return found
    return [place for place in found if any((place / "_delta_log").rglob("*.parquet"))]


def main(kind: Kind, first: int, count: int) -> None:
    """One line of JSON before and one after each case."""
    resource.setrlimit(resource.RLIMIT_AS, (_CEILING, _CEILING))
    sources = tables(kind)
    for seed in range(first, first + count):
        _say({"begin": seed})
        _say({"end": seed, "wrong": run_case(kind, seed, sources), "peak": _peak()})


def run_case(kind: Kind, seed: int, sources: list[Path]) -> str | None:
    """What went wrong, None where all is well."""
    dice = random.Random(f"{kind} {seed}")
    source = dice.choice(sources)
    place = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        log = copy_log(source, Path(scratch))
        mutation = mutate(log, source.name, kind, dice)
        if mutation is None:
            return None
        _read_into_columns_from(_LARGE_FILE if seed % 2 else 0, joined=seed % 4 == 2)
        try:
            _judge(Path(scratch), source, mutation, dice)
            if kind != "parquet":
                _assert_same_by_lines(Path(scratch))
            if kind == "escapes":
                _assert_as_it_was(Path(scratch), source)
        except AssertionError as error:
            return f"{mutation}: {error}"
        except Exception:  # noqa: BLE001  # every other exception is what this looks for
            return f"{mutation}: {traceback.format_exc(limit=-4)}"
    return None


def _read_into_columns_from(size: int, *, joined: bool = False) -> None:
    """Logs of the corpus are small: so that those who read large ones are tried, too, and
    those who read many small commits at once."""
    for module, name in _SWITCHES:
        setattr(module, name, max(size, 1))
    prefetched_columns.LARGE_FILE = sys.maxsize if joined else max(size, 1)  # type: ignore[misc]


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _judge(root: Path, source: Path, mutation: Mutation, dice: random.Random) -> None:
    try:
        table = explorer.open_table(root)
    except DeltaError as error:
        _assert_clear(error)
        return
    for question in dice.sample(list(_questions(table)), _QUESTIONS_PER_CASE):
        with suppress(DeltaError):
            question()
    try:
        snapshot = table.snapshot()
        found = _found(snapshot)
    except DeltaError as error:
        _assert_clear(error)
        return
    _assert_right(snapshot, found, root, source, mutation)
    # asked again, of what the table holds, it says the same
    assert _found(table.snapshot()) == found, "the second answer differs"


def _questions(table: Table) -> Iterator[Callable[[], object]]:
    """What a person may ask; only a `DeltaError` may come back."""
    yield table.latest_version
    yield lambda: table.history().validate(full=True)
    yield lambda: table.history(3)
    yield table.protocol
    yield table.metadata
    yield lambda: table.snapshot(version=0).num_files
    yield lambda: table.snapshot(timestamp="2021-01-01T00:00:00Z")
    yield lambda: table.snapshot().timestamp
    yield lambda: table.snapshot().arrow_schema
    yield lambda: table.snapshot().num_rows
    yield lambda: table.snapshot().num_deleted_rows
    yield lambda: json.dumps(look.describe(table))
    yield lambda: look.timeline(table).validate(full=True)
    yield lambda: look.features(table).validate(full=True)
    yield lambda: look.schema(table).validate(full=True)
    yield lambda: look.log_files(table).validate(full=True)
    yield lambda: look.commit_actions(table, table.latest_version()).validate(full=True)
    yield lambda: look.files_page(table.snapshot(), offset=0, limit=10)


def _assert_same_by_lines(root: Path) -> None:
    """What a log says by columns it says line by line, too, mistakes included."""
    told: list[dict[str, Any]] = []
    for size in (0, sys.maxsize):
        _read_into_columns_from(size)
        try:
            snapshot = explorer.open_table(root).snapshot()
            problems = [problem.as_dict() for problem in snapshot.problems]
            told.append(_found(snapshot) | {"problems": problems})
        except DeltaError as error:
            told.append(error.as_dict())
        try:
            told[-1]["history"] = explorer.open_table(root).history()
        except DeltaError as error:
            told[-1]["history"] = error.as_dict()
    by_columns, by_lines = told
    assert by_columns == by_lines, f"by columns {by_columns}, by lines {by_lines}"


def _assert_as_it_was(root: Path, source: Path) -> None:
    """Whoever looks at the bytes of a log before it is parsed misses nothing."""
    wanted, found = _told_of(source), _told(explorer.open_table(root))
    for name, value in wanted.items():
        assert found[name] == value, f"{name}: {found[name]} is not {value}"


@cache
def _told_of(source: Path) -> dict[str, Any]:
    return _told(explorer.open_table(source))


def _told(table: Table) -> dict[str, Any]:
    questions: dict[str, Callable[[], Any]] = {
        "protocol": table.protocol,
        "metadata": table.metadata,
        "features": lambda: look.features(table),
        "history": table.history,
        "changes": lambda: _changes(table),
    }
    told: dict[str, Any] = {}
    for name, ask in questions.items():
        try:
            told[name] = ask()
        except DeltaError as error:
            told[name] = error.kind
    return told


def _changes(table: Table) -> list[Any]:
    """What each commit did to rows; no data file is opened."""
    feed = plan_feed(table, 0)
    return [feed.commit(version).changes for version in feed.range.versions]


def _assert_clear(error: DeltaError) -> None:
    assert error.kind in ERROR_KINDS, error.kind
    assert all((error.problem, error.reason, error.remedy)), error.as_dict()
    assert len(str(error)) < 5000, f"{len(str(error))} characters of error"


def _assert_right(
    snapshot: Snapshot, found: dict[str, Any], root: Path, source: Path, mutation: Mutation
) -> None:
    """The answer is what the row-wise rule makes of the same files, where a mutated
    checkpoint counts as it was before."""
    log, sound = root / "_delta_log", source / "_delta_log"
    segment = snapshot.segment
    touched = segment.checkpoint is not None and mutation.kind == "parquet"
    stands_for_others = segment.checkpoint is not None or any(log.glob("*.compacted.json"))
    if mutation.how == "swap" and stands_for_others:
        return  # each file is sound, under the name of another
    if touched and (mutation.only_footer or not _has_checksums(sound / mutation.target)):
        return  # nothing in the file tells what it was
    if segment.checkpoint is not None and mutation.target in segment.checkpoint.names:
        # the hint may repeat what the checkpoint said
        touched |= any(problem.place == mutation.target for problem in snapshot.problems)
    try:
        wanted = _expected(log, sound if touched else log, segment)
    except UnreadableLogError as error:
        raise AssertionError(f"answered what cannot be read: {error}") from error
    for name, value in wanted.items():
        told = [problem.kind for problem in snapshot.problems]
        assert found[name] == value, f"{name}: {found[name]} is not {value}; told {told}"


def _has_checksums(place: Path) -> bool:
    """Whether the pages of a file carry a CRC: those of parquet-mr do since 1.12."""
    if not place.is_file():
        return False
    writer = _PARQUET_MR.match(pq.ParquetFile(place).metadata.created_by)
    return writer is not None and int(writer[1]) >= 12


def _expected(log: Path, checkpoints: Path, segment: LogSegment) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    if segment.checkpoint is not None:
        for name in segment.checkpoint.names:
            rows.extend(_checkpoint_rows(checkpoints, checkpoints / name))
    commits = [_lines(log / f"{version:020}.json") for version in segment.commits]
    return _figures(reconcile([rows, *commits]))


def _checkpoint_rows(log: Path, place: Path) -> list[dict[str, Any]]:
    rows = _lines(place) if place.suffix == ".json" else _parquet_rows(place)
    for row in list(rows):
        if (sidecar := row.get("sidecar")) is not None:
            if not isinstance(sidecar, dict) or not isinstance(sidecar.get("path"), str):
                raise UnreadableLogError(f"{place.name}: sidecar {sidecar!r}")
            rows.extend(_parquet_rows(log / "_sidecars" / sidecar["path"]))
    return rows


def _parquet_rows(place: Path) -> list[dict[str, Any]]:
    kept = ("add", "remove", "txn", "domainMetadata", "protocol", "metaData", "sidecar")
    try:
        table = pq.read_table(place)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise UnreadableLogError(str(error)) from error
    rows = table.select([name for name in kept if name in table.column_names]).to_pylist()
    return [{kind: body} for row in rows for kind, body in row.items() if body is not None]


def _lines(place: Path) -> list[dict[str, Any]]:
    kept = {"add", "remove", "txn", "domainMetadata", "protocol", "metaData", "sidecar"}
    found: list[dict[str, Any]] = []
    for line in place.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        try:
            action = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UnreadableLogError(f"{place.name}: {error}") from error
        if not isinstance(action, dict):
            raise UnreadableLogError(f"{place.name}: {line[:20]!r}")
        found += [
            {kind: body} for kind, body in action.items() if kind in kept and body is not None
        ]
    return found


def _figures(state: RowwiseState) -> dict[str, Any]:
    assert state.protocol is not None
    assert state.metadata is not None
    return {
        "files": Counter(
            (body["path"], body.get("size"), unique_id(body.get("deletionVector")))
            for body in state.adds.values()
        ),
        "tombstones": Counter(
            (body["path"], body.get("deletionTimestamp"), unique_id(body.get("deletionVector")))
            for body in state.removes.values()
        ),
        "transactions": {app: body["version"] for app, body in state.transactions.items()},
        "domains": set(state.live_domains),
        "id": state.metadata["id"],
        "protocol": (state.protocol["minReaderVersion"], state.protocol["minWriterVersion"]),
    }


def _found(snapshot: Snapshot) -> dict[str, Any]:
    files = snapshot.files(["path", "size", "deletion_vector", "stats", "partition_values"])
    tombstones = snapshot.tombstones(["path", "deletion_timestamp", "deletion_vector"])
    files.validate(full=True)
    tombstones.validate(full=True)
    assert snapshot.num_files == files.num_rows, "num_files"
    assert snapshot.num_tombstones == tombstones.num_rows, "num_tombstones"
    times = tombstones.column("deletion_timestamp").cast(pa.int64()).to_pylist()
    return {
        "files": Counter(zip(*(_plain(files, "path", "size")), _ids(files), strict=True)),
        "tombstones": Counter(
            zip(*_plain(tombstones, "path"), times, _ids(tombstones), strict=True)
        ),
        "transactions": {app: found.version for app, found in snapshot.transactions.items()},
        "domains": set(snapshot.domains),
        "id": snapshot.metadata.id,
        "protocol": (snapshot.protocol.min_reader_version, snapshot.protocol.min_writer_version),
    }


def _plain(table: pa.Table, *names: str) -> list[list[Any]]:
    return [table.column(name).to_pylist() for name in names]


def _ids(table: pa.Table) -> list[str | None]:
    return [
        None
        if value is None
        else unique_id(
            {
                "storageType": value["storage_type"],
                "pathOrInlineDv": value["path_or_inline_dv"],
                "offset": value["offset"],
            }
        )
        for value in table.column("deletion_vector").to_pylist()
    ]


if __name__ == "__main__":
    chosen = next(kind for kind in KINDS if kind == sys.argv[1])
    main(chosen, int(sys.argv[2]), int(sys.argv[3]))
