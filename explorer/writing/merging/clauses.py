"""What a merge is asked to do: its condition and its clauses, in the order in which they count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

from explorer.errors import InvalidArgumentError
from explorer.writing.changes.set_tree import is_column

ClauseKind: TypeAlias = Literal["matched", "not matched", "not matched by source"]
"""Which rows a clause is about: pairs, rows of the source alone, rows of the table alone."""

ClauseAction: TypeAlias = Literal["update", "delete", "insert"]

_MOST_CLAUSES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    """One WHEN of a merge. `where` is a further condition; null counts as false. `values` are by
    the names of columns, or of fields as `place.city`: SQL texts, or Columns of Spark; None where
    nothing is set (a delete), or every column from the source's of the same name (`*`)."""

    kind: ClauseKind
    action: ClauseAction
    where: str | None = None
    values: Mapping[str, Any] | None = None

    @property
    def is_star(self) -> bool:
        """Whether it takes every column from the source."""
        return self.action != "delete" and self.values is None

    @property
    def words(self) -> str:
        """As SQL begins it."""
        return f"WHEN {self.kind.upper()} THEN {self.action.upper()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """A merge as it was asked for. `on` pairs rows; in it and in the clauses the table is called
    `target_alias` and the source `source_alias`."""

    on: str
    source_alias: str = "source"
    target_alias: str = "target"
    merge_schema: bool = False
    clauses: tuple[MergeClause, ...] = ()

    def of(self, kind: ClauseKind) -> tuple[MergeClause, ...]:
        """The clauses of a kind, in order."""
        return tuple(clause for clause in self.clauses if clause.kind == kind)

    @property
    def is_insert_only(self) -> bool:
        """Whether no row of the table changes."""
        return all(clause.kind == "not matched" for clause in self.clauses)

    @property
    def takes_any_match(self) -> bool:
        """Whether a row of the table may have several partners: nothing is asked of them, and all
        that may happen to it is that it goes."""
        matched = self.of("matched")
        return not matched or (
            len(matched) == 1 and matched[0].action == "delete" and matched[0].where is None
        )


def check_request(request: MergeRequest) -> None:
    """Raise `InvalidArgumentError` for what cannot be meant."""
    for name, value in (("on", request.on), *_aliases(request)):
        if not isinstance(value, str) or not value.strip():
            raise _wrong(
                f"{name} of a merge is {str(value)[:60]!r}.",
                "It is a text that is not empty.",
                "Write for example on='target.id = source.id'.",
            )
    if request.source_alias.lower() == request.target_alias.lower():
        raise _wrong(
            f"Table and source are both called {request.source_alias[:60]!r}.",
            "Conditions and values could not tell them apart.",
            "Give another source_alias or target_alias.",
        )
    if not request.clauses:
        raise _wrong(
            "The merge has no clause.",
            "Nothing says what becomes of any row.",
            "Add one, such as .when_matched_update_all() or .when_not_matched_insert_all().",
        )
    if len(request.clauses) > _MOST_CLAUSES:
        raise _wrong(
            f"The merge has {len(request.clauses):,} clauses.",
            f"{_MOST_CLAUSES} are allowed.",
            "Write one with a CASE.",
        )
    for clause in request.clauses:
        _check_clause(clause)
    for before, after in _neighbours(request):
        if before.where is None:
            raise _wrong(
                f"{before.words} has no condition, and {after.words} comes after it.",
                "It would take every row, so that the later one would never count.",
                "Give it a condition, or put it last.",
            )


def _aliases(request: MergeRequest) -> Iterator[tuple[str, Any]]:
    yield "source_alias", request.source_alias
    yield "target_alias", request.target_alias


def _neighbours(request: MergeRequest) -> Iterator[tuple[MergeClause, MergeClause]]:
    kinds: tuple[ClauseKind, ...] = ("matched", "not matched", "not matched by source")
    for kind in kinds:
        yield from pairwise(request.of(kind))


def _check_clause(clause: MergeClause) -> None:
    if clause.where is not None and (not isinstance(clause.where, str) or not clause.where.strip()):
        raise _wrong(
            f"The condition of {clause.words} is {str(clause.where)[:60]!r}.",
            "It is a text of SQL, or None for every row.",
            "Write for example where='source.op = 1'.",
        )
    if clause.values is None:
        if clause.is_star and clause.kind == "not matched by source":
            raise _wrong(
                f"{clause.words} sets no column.",
                "There is no row of the source to take values from.",
                "Give set={column: value}.",
            )
        return
    if not isinstance(clause.values, Mapping) or not clause.values:
        raise _wrong(
            f"{clause.words} sets no column.",
            "Values are given by the names of columns.",
            "Give for example {'price': 'source.price'}, or use the form for all columns.",
        )
    for name, value in clause.values.items():
        if not isinstance(name, str) or not name.strip():
            raise _wrong(
                f"{clause.words} sets {str(name)[:60]!r}.",
                "It is not the name of a column.",
                "Name the columns of the table.",
            )
        if not (isinstance(value, str) or is_column(value)):
            raise _wrong(
                f"The value of `{name[:120]}` is a {type(value).__name__[:60]}.",
                "Values are texts of SQL, or Columns of Spark.",
                'Write a literal as SQL: "1", "\'text\'", "DATE \'2026-01-31\'" or "NULL".',
            )


def _wrong(problem: str, reason: str, remedy: str) -> InvalidArgumentError:
    return InvalidArgumentError(problem, reason=reason, remedy=remedy)
