"""Which commits, and which of their files, may concern a row that matches
(spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import pyarrow.compute as pc

from explorer.errors import CorruptLogError
from explorer.inspect.commits.commit_lines import find_lines
from explorer.inspect.rows._own_layouts import OwnLayouts
from explorer.log.actions.columns import int32_column, table_of
from explorer.log.commits.commit_file import parse_action
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.filenames import render_commit_name
from explorer.protocol.paths import normalise_path
from explorer.scan.facts import Question, answer, question_of
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

    def __init__(self, predicate: Predicate, end: Snapshot, layouts: OwnLayouts) -> None:
        """For a predicate over the schema of `end`; `layouts` know the commits that are taken."""
        self._predicate = predicate
        self._end = end
        self._layouts = layouts
        self._questions: dict[int, Question | None] = {}
        self._paths: set[str] = set()
        self.num_actions = 0
        self.broken: list[tuple[int, str]] = []

    def begin_with(self, paths: Iterable[str]) -> None:
        """Take those files of a version that may hold a matching row."""
        self._paths.update(map(normalise_path, paths))

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
        for body, version, stays in zip(
            bodies, versions, self._may_hold(bodies, versions), strict=True
        ):
            if stays and (among is None or version in among):
                self._paths.add(normalise_path(body["path"]))
                found.add(version)
        return found

    def _may_hold(self, bodies: list[Mapping[str, Any]], versions: list[int]) -> Iterator[bool]:
        """For each file, in this order, of which those of one layout stand beside each other."""
        layouts = (id(self._layouts.at(version)) for version in versions)
        start = 0
        for _, some in groupby(layouts):
            number = sum(1 for _ in some)
            yield from self._ask(bodies[start : start + number], versions[start])
            start += number

    def _ask(self, bodies: list[Mapping[str, Any]], version: int) -> Sequence[bool]:
        question = self._question(version)
        if question is None:
            return [True] * len(bodies)
        files = table_of("add", [], bodies)
        found = answer(question, FileColumns(table=files, leaves={}))
        evidence = evidence_of(self._predicate, found, files.num_rows)
        stays: list[bool] = pc.equal(evidence.column("code"), _KEPT).to_pylist()
        return stays

    def _question(self, version: int) -> Question | None:
        """What is asked of files of a version; None where it is unknown what they hold."""
        layout = self._layouts.at(version)
        if id(layout) not in self._questions:
            seen = layout.seen
            question = None
            if seen is not None:
                described = self._end.described_by(seen.protocol, seen.metadata)
                question = question_of(self._predicate, described)
            self._questions[id(layout)] = question
        return self._questions[id(layout)]


def _read(data: bytes, version: int, block: _Block) -> None:
    name = render_commit_name(version)
    for kind in _KINDS:
        for number, line in find_lines(data, f'"{kind}"'.encode()):
            body = parse_action(line, name, number).get(kind)
            block.put(kind, body, version)


_KEPT: Final = int32_column([KEPT])[0]
