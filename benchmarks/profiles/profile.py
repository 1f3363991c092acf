"""What a log is like, and the profiles that are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Layout: TypeAlias = Literal["classic", "parts", "sidecars", "commits"]
Statistics: TypeAlias = Literal["none", "json", "structs", "both"]
VectorForm: TypeAlias = Literal["inline", "relative", "shared", "mixed"]
Writer: TypeAlias = Literal["imitation", "deltalake", "spark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One log. `files` are live in its checkpoint; `tombstones` and `vectors` are parts of
    them. `columns` have statistics. `commits` come after the checkpoint, each of `adds` and
    `removes`; a compaction stands for every `compacted` of them, where that is not 0. With
    `features` there are tags, row tracking, clustering, column mapping and times in commits."""

    name: str
    files: int
    layout: Layout = "classic"
    tombstones: float = 0.2
    vectors: float = 0.016
    vector_form: VectorForm = "mixed"
    columns: int = 5
    statistics: Statistics = "json"
    partitions: int = 2
    row_group: int = 250_000
    compression: str = "snappy"
    dictionary: bool = True
    commits: int = 20
    adds: int = 5
    removes: int = 3
    compacted: int = 0
    features: bool = False
    writer: Writer = "imitation"


def checkpoints(files: int) -> Mapping[str, Profile]:
    """The six that are measured on checkpoints of `files` files, by name."""
    wide = min(files, 200_000)
    return {
        found.name: found
        for found in (
            Profile(name="nightly", files=files),
            Profile(name="sidecars", files=files, layout="sidecars"),
            Profile(name="spark", files=files, writer="spark", partitions=1, vectors=0.02),
            Profile(name="deltalake", files=files, writer="deltalake", vectors=0.0),
            Profile(
                name="features",
                files=files,
                vectors=0.3,
                columns=2,
                row_group=5_000,
                compression="zstd",
                dictionary=False,
                commits=30,
                adds=8,
                compacted=10,
                features=True,
            ),
            Profile(
                name="wide",
                files=files,
                layout="parts",
                vectors=0.02,
                vector_form="inline",
                columns=32,
                statistics="both",
                partitions=0,
                row_group=1_000_000,
                compression="zstd",
                commits=3,
                adds=1_000,
            ),
            # not one of the six: it is for statistics alone
            Profile(name="widest", files=wide, columns=200, statistics="both", row_group=20_000),
        )
    }


def merges(commits: int) -> Profile:
    """Small rewrites and no checkpoint."""
    return Profile(name="merges", files=0, layout="commits", commits=commits, vectors=0.0)


def loads(actions: int, commits: int) -> Profile:
    """Commits that only add, each of so many actions."""
    return Profile(
        name=f"loads-{actions}",
        files=0,
        layout="commits",
        commits=commits,
        adds=actions,
        removes=0,
        vectors=0.0,
    )
