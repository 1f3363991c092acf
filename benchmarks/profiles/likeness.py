"""The measures of a real table, as a profile."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import explorer
from benchmarks.profiles.profile import Layout, Profile, Statistics


def profile_like(place: str) -> Profile:
    """A profile with as many files, tombstones, vectors, columns and actions as a local table
    has, and with its newest checkpoint's form; raises what `explorer` raises for one that it
    cannot read."""
    snapshot = explorer.open_table(place).snapshot()
    found = snapshot.files(columns=["stats", "deletion_vector"])
    files, vectors = len(found), found["deletion_vector"]
    fields = snapshot.schema.fields
    partitions = len(snapshot.metadata.partition_columns)
    log = Path(place) / "_delta_log"
    commits = sorted(log.glob(f"{'[0-9]' * 20}.json"))[-50:]
    adds, removes = (
        [path.read_bytes().count(name) for path in commits] for name in (b'{"add":', b'{"remove":')
    )
    stored = [*log.glob("_sidecars/*.parquet"), *log.glob("*.checkpoint*.parquet")]
    first = pq.ParquetFile(max(stored, key=_size)) if stored else None
    layout: Layout = "classic"
    if first is None:
        layout = "commits"
    elif [*log.glob("_sidecars/*.parquet")]:
        layout = "sidecars"
    elif [*log.glob("*.checkpoint.*.*.parquet")]:
        layout = "parts"
    return Profile(
        name="like",
        files=files,
        layout=layout,
        tombstones=snapshot.num_tombstones / files if files else 0.0,
        vectors=(files - vectors.null_count) / files if files else 0.0,
        columns=max(1, _columns(found, len(fields) - partitions)),
        statistics="json" if first is None else _statistics(first),
        partitions=min(partitions, 2),
        commits=len(commits),
        adds=max(1, round(statistics.mean(adds or [1]))),
        removes=round(statistics.mean(removes or [0])),
        compacted=10 if [*log.glob("*.compacted.json")] else 0,
        features=snapshot.protocol.min_writer_version >= 7,
        **({} if first is None else _encoding(first)),
    )


def _size(path: Path) -> int:
    return path.stat().st_size


def _columns(found: pa.Table, most: int) -> int:
    texts = found["stats"].drop_null()
    if not len(texts):
        return most
    return len(json.loads(texts[0].as_py()).get("nullCount", {})) or most


def _statistics(first: pq.ParquetFile) -> Statistics:
    add = first.schema_arrow.field("add").type
    has_json, has_structs = (add.get_field_index(name) >= 0 for name in ("stats", "stats_parsed"))
    if has_json and has_structs:
        return "both"
    return "structs" if has_structs else "json" if has_json else "none"


def _encoding(first: pq.ParquetFile) -> dict[str, Any]:
    group = first.metadata.row_group(0)
    return {
        "row_group": max(1_000, group.num_rows),
        "compression": group.column(0).compression.lower(),
        "dictionary": any(
            "DICTIONARY" in encoding
            for at in range(group.num_columns)
            for encoding in group.column(at).encodings
        ),
    }
