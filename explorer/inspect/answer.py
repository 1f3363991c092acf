"""How a displayed fact is asked, and its JSON document: one record beside each fact.

`explorer.answers.registry` lists the records. The command line and `/api` both serve themselves
from it, so that a fact has the same parameters and the same fields at both doors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from explorer.errors import InvalidArgumentError, Problem
from explorer.progress import ProgressCallback
from explorer.records import record

if TYPE_CHECKING:
    from explorer.table.table import Table

T = TypeVar("T")

Document = Mapping[str, Any]

Kind = Literal["count", "flag", "text", "whole"]
"""A number of rows or files from 1 on, a truth value, a text, or a whole number from 0 on."""

Reads = Literal["log", "files"]
"""What is read: the log alone, or also the folder, data files or deletion vectors."""


def _as_it_is(value: Any) -> Any:
    return value


def _no_problems(_: Any) -> Iterable[Problem]:
    return ()


@record
class Parameter:
    """What may be said when a fact is asked for.

    `check` makes of the value, a list of values where it `repeats`, what the fact takes, and
    raises `InvalidArgumentError` for one that no table can answer. `reads` is what an answer
    with this parameter reads. Without one that `is_for_more` an answer is short by itself.
    """

    name: str
    kind: Kind
    is_required: bool = False
    repeats: bool = False
    check: Callable[[Any], Any] = _as_it_is
    reads: Reads = "log"
    is_for_more: bool = False


@record
class Answer(Generic[T]):
    """One displayed fact.

    - `ask` takes a table, a callback for progress or None, and the values of `parameters` by
      name. It reads whatever the documents show, and raises `DeltaError`
    - `documents` makes JSON documents of the fact, with at most so many rows of its longest list,
      all of them where that is None. `is_list` says that there is one for each row; otherwise
      there is exactly one
    - `problems`: what is wrong with a table that still answers a list
    - `asks_limit` says that `ask` takes the limit too, because fewer rows are less work
    """

    name: str
    ask: Callable[..., T]
    documents: Callable[[T, int | None], Iterable[Document]]
    parameters: tuple[Parameter, ...] = ()
    problems: Callable[[T], Iterable[Problem]] = _no_problems
    is_list: bool = False
    asks_limit: bool = False
    reads: Reads = "log"

    def question(self, given: Mapping[str, Any]) -> Question[T]:
        """The question with these values, by name of the parameter; None is not given.

        Raises `InvalidArgumentError` for values that no table can answer, before one is opened.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        values = {name: value for name, value in given.items() if value is not None}
        check_one_point_in_time(values.get("version"), values.get("timestamp"))
        checked = {name: known[name].check(value) for name, value in values.items()}
        limit = checked.get("limit")
        if not self.asks_limit:
            checked.pop("limit", None)
        return Question(answer=self, chosen=checked, limit=limit)

    def document(self, fact: T, limit: int | None) -> Document:
        """The one document of a fact that is no list."""
        (found,) = self.documents(fact, limit)
        return found


@record
class Question(Generic[T]):
    """An answer with the values that were chosen for its parameters, and checked."""

    answer: Answer[T]
    chosen: Mapping[str, Any]
    limit: int | None

    def ask(self, table: Table, progress: ProgressCallback | None = None) -> T:
        """The fact of this table; raises `DeltaError`."""
        return self.answer.ask(table, progress, **self.chosen)

    def documents(self, fact: T) -> Iterable[Document]:
        """The documents of the fact, with at most `limit` rows."""
        return self.answer.documents(fact, self.limit)


def check_one_point_in_time(version: int | None, timestamp: str | None) -> None:
    """Refuse a version together with a timestamp."""
    if version is not None and timestamp is not None:
        raise InvalidArgumentError(
            "Both a version and a timestamp are given.",
            reason="Each of them alone names a version.",
            remedy="Leave out --version or --timestamp.",
        )


VERSION: Final = Parameter(name="version", kind="whole")
MOMENT: Final = (VERSION, Parameter(name="timestamp", kind="text"))
"""A version, or the time at which it was current; the newest version without either."""
LIMIT: Final = Parameter(name="limit", kind="count")
COLUMN_NAMES: Final = Parameter(name="column", kind="text", repeats=True)
