"""What a commit did, in one sentence (spec: Commit Provenance Information).

`ben.osei deleted 505 rows where customer_id is between 16576 and 16695`. The sentence rests on
what the writer recorded of itself: operation, parameters, metrics and user. The specification
leaves these to the writer, so that each number may be missing: then the counts of the commit's own
actions take its place where they are known, and otherwise none is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.inspect.commits._operation_words import CommitCounts, Recorded, told_operation
from explorer.inspect.commits._predicate_words import plain_condition, read_condition
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST = 400
"""Characters of a sentence; a condition may be as long as its writer liked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSentence:
    """Who did what. `who` is the user's name, before the @ where it is an address, or None;
    `did` begins with a verb: `deleted 505 rows`. Both are a table's text."""

    who: str | None
    did: str

    @property
    def text(self) -> str:
        """The sentence, without its full stop."""
        if self.who is None:
            return self.did[:1].upper() + self.did[1:]
        return f"{self.who} {self.did}"


def commit_sentence(
    operation: str | None,
    parameters: Mapping[str, str | None] | None,
    metrics: Mapping[str, str | None] | None,
    user: str | None,
    counts: CommitCounts | None = None,
) -> CommitSentence:
    """The sentence of a commit whose `commitInfo` says this; `counts` are those of its actions."""
    said = Recorded(
        operation=operation,
        parameters=parameters or {},
        metrics=metrics or {},
        counts=counts or CommitCounts(),
    )
    did = " ".join(told_operation(said).split())
    cut = did if len(did) <= LONGEST else did[: LONGEST - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
    return CommitSentence(who=_short_name(user), did=cut)


def sentence_of_info(info: Mapping[str, Any], counts: CommitCounts | None = None) -> CommitSentence:
    """The sentence of what `commit_info` returns."""
    return commit_sentence(
        info["operation"], info["parameters"], info["metrics"], info["user"], counts
    )


def history_sentences(history: pa.Table) -> list[CommitSentence]:
    """The sentence of each row of what `history` returns, in its order."""
    names = ["operation", "operation_parameters", "operation_metrics", "user_name"]
    return [row_sentence(row) for row in plain_rows(history.select(names))]


def row_sentence(row: Mapping[str, Any]) -> CommitSentence:
    """The sentence of one row of what `history` returns, as plain data; where the row has counts
    as well, which `timeline` returns, they take the place of numbers that are not recorded."""
    return commit_sentence(
        row["operation"],
        row["operation_parameters"],
        row["operation_metrics"],
        row["user_name"],
        counts_of_row(row),
    )


def counts_of_row(row: Mapping[str, Any]) -> CommitCounts:
    """What the actions of a commit count, of one row of what `timeline` returns, as plain data."""
    return CommitCounts(
        files_added=row.get("files_added"),
        files_removed=row.get("files_removed"),
        rows_added=row.get("rows_added"),
        rows_removed=row.get("rows_removed"),
    )


def commit_condition(parameters: Mapping[str, str | None] | None) -> str | None:
    """The condition on rows that a commit records, without Spark's ids of expressions;
    None where it records none, or one that every row meets."""
    condition = read_condition((parameters or {}).get("predicate"))
    return None if condition is None else plain_condition(condition)


def _short_name(user: str | None) -> str | None:
    name = " ".join((user or "").split())
    before, sign, after = name.partition("@")
    if sign and before and "." in after and " " not in name:
        name = before
    return name[:80] or None
