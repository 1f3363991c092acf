"""A statement that is run again where it lost against another commit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from typing import Final

from explorer.errors import Problem
from explorer.pipeline.jobs.ended_tasks import await_tasks, speculates
from explorer.pipeline.removing.workplace import Workplace
from explorer.progress import Watch
from explorer.transaction.conflicts import Conflict
from explorer.writing.changes.row_changes import RowChanges
from explorer.writing.files.leftovers import (
    problems_of,
    raise_with,
    remove_files_named,
    remove_files_of,
)
from explorer.writing.statements.change_statement import ChangeStatement, may_run_again
from explorer.writing.statements.options import WriteResult

_TRIES: Final = 4


def run_until_committed(
    run: Callable[[], WriteResult | Conflict], watch: Watch, *, is_rereadable: bool = True
) -> WriteResult:
    """What comes of a statement; each call of `run` looks at the newest version, and leaves no
    file behind where it lost. Raises `ConflictError` where it lost too often, where what was won
    against is unknown, and where its data cannot be read again."""
    for number in range(1, _TRIES + 1):
        found = run()
        if isinstance(found, WriteResult):
            return found
        if number == _TRIES or not (is_rereadable and may_run_again(found)):
            raise found.as_error()
        watch.step(0, None, f"Running again after version {found.version} ({found.rule})")
    raise AssertionError("the last try ends")


@contextlib.contextmanager
def leaving_nothing(statement: ChangeStatement, place: Workplace) -> Iterator[None]:
    """What a statement wrote goes where the block raises; an error says what is left."""
    try:
        yield
    except BaseException as error:
        if place.session is not None:
            await_tasks(place.session)
        # a task that ended well before the job failed told nobody
        raise_with(remove_files_of(statement.target.store, statement.id), error)
        raise


def remove_other_attempts(
    statement: ChangeStatement,
    place: Workplace,
    changes: RowChanges,
    keep: Collection[str] = (),
) -> tuple[Problem, ...]:
    """Where a task was tried again, or twice at once, the files of other attempts go, and what
    is left of them is told; `keep` are further files of the statement."""
    session = place.session
    if session is None or not (place.retries.seen or speculates(session)):
        return ()
    await_tasks(session)
    kept = frozenset((*changes.paths, *keep))
    return problems_of(remove_files_named(statement.target.store, str(statement.id), keep=kept))
