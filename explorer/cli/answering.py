"""How a verb answers a question about a table: as JSON documents, or for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import explorer
from explorer.answers.registry import ANSWERS
from explorer.cli.arguments.options import SCREENFUL, parse_storage_options
from explorer.cli.printing.json_lines import print_documents, print_problems
from explorer.cli.printing.terminal import show_progress
from explorer.inspect.answer import Question

if TYPE_CHECKING:
    from explorer.table.table import Table

Place = tuple[str, list[str] | None]
"""The URI of a table, and `--option`s for its storage."""


def answer(
    name: str,
    place: Place,
    given: Mapping[str, Any],
    show: Callable[[Any, Any], None],
    *,
    as_json: bool,
    screenful: int | None = SCREENFUL,
) -> Any:
    """Ask for the fact of this name with the values that are given, and return it.

    Its documents are printed; or `show` prints it for people, with at most as many rows as it is
    told: the limit that is given, or else `screenful`.
    """
    limit = given.get("limit") or (None if as_json else screenful)
    question, found = ask(name, place, {**given, "limit": limit} if "limit" in given else given)
    if as_json:
        print_answer(question, found)
    else:
        show(found, limit)
    return found


def ask(name: str, place: Place, given: Mapping[str, Any]) -> tuple[Question[Any], Any]:
    """The question for the fact of this name, and what the table answers; progress is shown."""
    question = ANSWERS[name].question(given)
    table = open_named(place)
    with show_progress() as progress:
        return question, question.ask(table, progress)


def open_named(place: Place) -> Table:
    """The table at a place."""
    uri, options = place
    return explorer.open_table(uri, parse_storage_options(options))


def print_answer(question: Question[Any], found: Any) -> None:
    """The documents of a fact, and what is wrong with the table on standard error."""
    print_documents(question.documents(found))
    print_problems(question.answer.problems(found))
