"""Which commits, and which of their files, may concern a row that matches
(spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow.compute as pc

from explorer.errors import CorruptLogError
from explorer.inspect.commits.commit_lines import find_lines
from explorer.log.actions.columns import int32_column, table_of
from explorer.log.commits.commit_file import parse_action
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.paths import normalise_path
from explorer.scan.facts import Question, answer, question_of
from explorer.scan.plan import plan_scan
from explorer.scan.predicate.predicate import Predicate
from explorer.scan.reasons import KEPT, evidence_of
from explorer.table.snapshot import Snapshot

_KINDS: Final = ("add", "remove", "cdc")


@dataclass(slots=True)
class _Block:
    """The actions of some commits, each kind with the version of each."""

    bodies: dict[str, list[Mapping[str, Any]]] = field(
        default_factory=lambda: {kind: [] for kind in _KINDS}
    )
    versions: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})

    def put(self, kind: str, body: Any, version: int) -> None:
        """One action; what is not a file is left to those who read the commit."""
        if isinstance(body, Mapping) and isinstance(body.get("path"), str):
            self.bodies[kind].append(body)
            self.versions[kind].append(version)


class Candidates:
    """The files that may hold a matching row, learned commit by commit: what was ruled out
    when a file was added is ruled out when it is removed, so that only the others are remembered.

    `num_actions` counts the file actions seen, `broken` has version and problem of commits
    that cannot be parsed.
    """

    def __init__(self, predicate: Predicate, end: Snapshot) -> None:
        """For a predicate over the schema of `end`."""
        self._predicate = predicate
        self._question: Question = question_of(predicate, end)
        self._paths: set[str] = set()
        self.num_actions = 0
        self.broken: list[tuple[int, str]] = []

    def begin_with(self, base: Snapshot) -> None:
        """Take the files of a version."""
        kept = plan_scan(base, self._predicate).kept.column("path").to_pylist()
        self._paths.update(map(normalise_path, kept))

    def take(self, commits: Sequence[tuple[int, bytes]]) -> list[int]:
        """Take what these commits do to files; the versions that may concern a matching row.

        A file of changes has no statistics: it may hold such a row only if a file that its
        commit adds or removes may.
        """
        block = _Block()
        for version, data in commits:
            try:
                _read(data, version, block)
            except CorruptLogError as error:
                self.broken.append((version, error.problem))
        self.num_actions += sum(map(len, block.bodies.values()))
        concerned = self._learn(block, "add", None)
        for body, version in zip(block.bodies["remove"], block.versions["remove"], strict=True):
            if body["path"] in self:
                concerned.add(version)
        self._learn(block, "cdc", concerned)
        return sorted(concerned)

    def __contains__(self, path: str) -> bool:
        """Whether a file may hold a matching row, by its path in the log."""
        return normalise_path(path) in self._paths

    def _learn(self, block: _Block, kind: str, among: set[int] | None) -> set[int]:
        """Remember the files of one kind that may hold such a row; their versions."""
        found: set[int] = set()
        bodies, versions = block.bodies[kind], block.versions[kind]
        for body, version, stays in zip(bodies, versions, self._may_hold(bodies), strict=True):
            if stays and (among is None or version in among):
                self._paths.add(normalise_path(body["path"]))
                found.add(version)
        return found

    def _may_hold(self, bodies: list[Mapping[str, Any]]) -> list[bool]:
        if not bodies:
            return []
        files = table_of("add", [], bodies)
        found = answer(self._question, FileColumns(table=files, leaves={}))
        evidence = evidence_of(self._predicate, found, files.num_rows)
        stays: list[bool] = pc.equal(evidence.column("code"), _KEPT).to_pylist()
        return stays


def _read(data: bytes, version: int, block: _Block) -> None:
    name = render_commit_name(version)
    for kind in _KINDS:
        for number, line in find_lines(data, f'"{kind}"'.encode()):
            body = parse_action(line, name, number).get(kind)
            block.put(kind, body, version)


_KEPT: Final = int32_column([KEPT])[0]
