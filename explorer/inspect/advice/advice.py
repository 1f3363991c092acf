"""What to do first about a table, of all that its health, layout, vectors and reach ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from explorer.errors import DeltaError, Problem
from explorer.files.listed import ListedFiles, list_files
from explorer.inspect.advice._steps import (
    steps_of_folder,
    steps_of_health,
    steps_of_layout,
    steps_of_reach,
    steps_of_vectors,
    with_shared_work,
)
from explorer.inspect.advice.ranking import MOST_STEPS, SOURCES, Source, Step, rank_steps
from explorer.inspect.answer import LIMIT, Answer, Document, Parameter
from explorer.inspect.files.folder_files import foreign_files
from explorer.inspect.health.table_health import Health, files_health, log_health
from explorer.inspect.layout.sizes import small_files
from explorer.inspect.reach.reachability import reach_of_commits
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.table.counts import count
from explorer.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do first.

    - `version`: the latest, None where the log is empty
    - `steps`: everything that is worth doing, the best first, see `ranking`; `first`: at most
      `MOST_STEPS` of them
    - `health`: what the steps of the log rest on
    - `has_listed`: whether the files were looked at, without which nobody knows whether they are
      there and what a vacuum would free
    - `unasked`: what could not be asked, by its name, and why
    """

    uri: str
    version: int | None
    steps: tuple[Step, ...]
    health: Health
    has_listed: bool
    unasked: tuple[tuple[Source, Problem], ...] = ()

    @property
    def first(self) -> tuple[Step, ...]:
        """What is shown."""
        return self.steps[:MOST_STEPS]

    @property
    def further(self) -> tuple[Step, ...]:
        """The others, which are shown on demand."""
        return self.steps[MOST_STEPS:]

    @property
    def is_complete(self) -> bool:
        """Whether all was asked, so that no step means that there is nothing to do."""
        return self.has_listed and not self.unasked

    @property
    def sentence(self) -> str:
        """How much there is to do, and what that rests on."""
        return _sentence(self, MOST_STEPS)

    def sentence_of(self, limit: int | None) -> str:
        """The same where as many steps are shown; None is `first`."""
        return _sentence(self, MOST_STEPS if limit is None else limit)


def advice_by_log(
    table: Table,
    *,
    tell: Callable[[Health], None] = lambda _: None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Advice:
    """What the log alone asks for; a table that cannot be opened has advice, too. `tell` hears
    its health first."""
    watch = Watch(progress=progress, cancel=cancel)
    health = log_health(table, progress=progress, cancel=cancel)
    tell(health)
    return _advise(table, health, watch, None)


def advice_by_files(
    table: Table,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Advice:
    """The same with the whole checkpoint read and everything below the table's root listed."""
    watch = Watch(progress=progress, cancel=cancel)
    listed = cache(lambda: list_files(table.store, watch))
    health = files_health(table, listed=listed, progress=progress, cancel=cancel)
    return _advise(table, health, watch, listed)


def _advise(
    table: Table, health: Health, watch: Watch, listed: Callable[[], ListedFiles] | None
) -> Advice:
    steps, unasked = list(steps_of_health(health)), []
    for source, ask in _questions(table, health, watch, listed):
        if not health.opens and source != "reach":
            continue  # its health says why
        try:
            steps += ask()
        except DeltaError as error:
            if error.kind == "cancelled":
                raise
            unasked.append((source, Problem.of(error)))
    steps = with_shared_work(steps, table.snapshot, watch)
    return Advice(
        uri=table.uri,
        version=health.version,
        steps=tuple(rank_steps(steps)),
        health=health,
        has_listed=listed is not None and health.has_listed,
        unasked=tuple(unasked),
    )


def _questions(
    table: Table, health: Health, watch: Watch, listed: Callable[[], ListedFiles] | None
) -> Iterator[tuple[Source, Callable[[], Iterable[Step]]]]:
    progress, cancel = watch.progress, watch.cancel
    snapshot = cache(lambda: table.snapshot(progress=progress, cancel=cancel))

    def layout() -> Iterator[Step]:
        return steps_of_layout(small_files(snapshot(), progress=progress, cancel=cancel))

    def reach() -> Iterator[Step]:
        return steps_of_reach(reach_of_commits(table, watch), health)

    def folder() -> Iterator[Step]:
        found = foreign_files(table, listed=listed, progress=progress, cancel=cancel)
        return steps_of_folder(found)

    yield "layout", layout
    yield "vectors", lambda: steps_of_vectors(snapshot(), watch)
    yield "reach", reach
    if listed is not None:
        yield "reach", folder


def _sentence(found: Advice, most: int) -> str:
    many = len(found.steps)
    if not many and found.is_complete:
        return "Nothing to do."
    left = "" if found.has_listed else " The data files were not checked."
    if found.unasked:
        names = " and ".join(sorted({source for source, _ in found.unasked}, key=SOURCES.index))
        left += f" Not known: {names}."
    if not many:
        return f"The log shows nothing to do.{left}"
    shown = ""
    if many > most:
        shown = f"; the first {most} are shown" if most > 1 else "; the first is shown"
    return f"{count(many, 'thing')} to do{shown}.{left}"


def _ask(table: Table, progress: ProgressCallback | None, *, files: bool = False) -> Advice:
    if files:
        return advice_by_files(table, progress=progress)
    return advice_by_log(table, progress=progress)


def _documents(found: Advice, limit: int | None) -> Iterator[Document]:
    shown = found.first if limit is None else found.steps[:limit]
    yield {
        "uri": found.uri,
        "version": found.version,
        "sentence": found.sentence_of(limit),
        "is_complete": found.is_complete,
        "has_listed": found.has_listed,
        "num_steps": len(found.steps),
        "steps": [_step(step) for step in shown],
        "unasked": [{"source": source, **problem.as_dict()} for source, problem in found.unasked],
    }


def _step(step: Step) -> Document:
    return {
        "source": step.source,
        "severity": step.severity,
        "problem": step.problem,
        "cost": step.cost,
        "benefit": step.benefit,
        "operation": step.operation,
        "by_hand": step.by_hand or None,
        "endangers": step.endangers,
        "arguments": dict(step.arguments),
        "others": step.others,
    }


ADVICE: Final = Answer(
    name="advice",
    parameters=(
        Parameter(name="files", kind="flag", reads="files"),
        replace(LIMIT, is_for_more=True),
    ),
    ask=_ask,
    documents=_documents,
)
