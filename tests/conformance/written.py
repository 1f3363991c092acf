"""Tables as statements write them, looked at without the product: the lines of the log as JSON,
data files through pyarrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

from explorer.errors import DeltaError

Action = dict[str, Any]


@dataclass(frozen=True)
class Written:
    """A table's folder. Versions are counted from 0; there is a commit for each."""

    root: Path

    @cached_property
    def commits(self) -> list[list[Action]]:
        paths = sorted((self.root / "_delta_log").glob("*.json"))
        found = [
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for path in paths
            if path.stem.isdecimal()
        ]
        for lines in found:  # one action to a line, under its one name
            assert all(isinstance(line, dict) and len(line) == 1 for line in lines)
        return found

    def actions(self, kind: str, version: int | None = None) -> list[Action]:
        """The bodies of all actions of a kind, of one commit or of all."""
        commits = self.commits if version is None else [self.commits[version]]
        return [line[kind] for commit in commits for line in commit if kind in line]

    @property
    def protocol(self) -> Action:
        return self.actions("protocol")[-1]

    @property
    def protocols(self) -> list[Action]:
        return self.actions("protocol")

    @property
    def metadata(self) -> Action:
        return self.actions("metaData")[-1]

    @property
    def configuration(self) -> dict[str, str]:
        return dict(self.metadata["configuration"])

    @property
    def schema(self) -> Action:
        return schema_in(self.metadata)

    def field(self, name: str) -> Action:
        return next(field for field in self.schema["fields"] if field["name"] == name)

    def stored_name(self, name: str) -> str:
        """What files and partition values call a column."""
        return str(self.field(name)["metadata"].get("delta.columnMapping.physicalName", name))

    @property
    def live(self) -> list[Action]:
        """The adds that no later commit removes."""
        found: dict[str, Action] = {}
        for commit in self.commits:
            for line in commit:
                if "remove" in line:
                    found.pop(line["remove"]["path"], None)
            for line in commit:
                if "add" in line:
                    found[line["add"]["path"]] = line["add"]
        return list(found.values())

    def file(self, add: Action) -> Path:
        return self.root / unquote(add["path"])

    def parquet(self, add: Action) -> pq.ParquetFile:
        return pq.ParquetFile(self.file(add))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of live files as they are stored, without deletion vectors and partition
        columns, by the names of the table."""
        names = {self.stored_name(field["name"]): field["name"] for field in self.schema["fields"]}
        for add in self.live:
            for row in pq.ParquetFile(self.file(add)).read().to_pylist():
                yield {names.get(name, name): value for name, value in row.items()}

    def values(self, name: str) -> list[Any]:
        """The values of one column of live files, in order."""
        return sorted(row[name] for row in self.rows())


def schema_in(metadata: Action) -> Action:
    found: Action = json.loads(metadata["schemaString"])
    return found


def features_of(protocol: Action) -> set[str]:
    return {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}


def stats_of(add: Action) -> Action:
    found: Action = json.loads(add["stats"])
    return found


Make = Callable[[Path], None]
Table = Callable[[str], Written]


def refused(write: Callable[[], Any], root: Path, text: str) -> DeltaError:
    """That a statement fails for this reason, and nothing is left of it."""
    before = sorted(path for path in root.rglob("*") if path.is_file())
    with pytest.raises(DeltaError) as caught:
        write()
    error = caught.value
    assert text in f"{error.problem} {error.reason}", (error.problem, error.reason)
    assert sorted(path for path in root.rglob("*") if path.is_file()) == before
    return error
