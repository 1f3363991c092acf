"""What a merge may ask for, and what its names and values mean."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.errors import InvalidArgumentError
from explorer.writing.merging.clauses import MergeClause, MergeRequest, check_request

UPDATE = MergeClause(kind="matched", action="update")
DELETE = MergeClause(kind="matched", action="delete")
INSERT = MergeClause(kind="not matched", action="insert")


def asked(*clauses: MergeClause, **more: Any) -> MergeRequest:
    return MergeRequest(**{"on": "target.id = source.id", "clauses": clauses} | more)


def refused(request: MergeRequest, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        check_request(request)


def test_a_merge_needs_a_condition_aliases_and_a_clause() -> None:
    check_request(asked(UPDATE))
    refused(asked(), "no clause")
    refused(asked(UPDATE, on=" "), "on of a merge")
    refused(asked(UPDATE, source_alias=""), "source_alias")
    refused(asked(UPDATE, target_alias="SOURCE"), "both called")
    refused(asked(*[UPDATE] * 101), "101 clauses")


def test_only_the_last_clause_of_a_kind_may_have_no_condition() -> None:
    conditional = MergeClause(kind="matched", action="update", where="source.v > 1")
    check_request(asked(conditional, DELETE, INSERT))
    check_request(asked(DELETE, INSERT))
    refused(asked(DELETE, conditional), "no condition, and WHEN MATCHED THEN UPDATE comes after")
    refused(asked(INSERT, DELETE, INSERT), "WHEN NOT MATCHED THEN INSERT has no condition")


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        (MergeClause(kind="matched", action="update", values={}), "sets no column"),
        (MergeClause(kind="not matched by source", action="update"), "sets no column"),
        (MergeClause(kind="matched", action="update", values={"v": 1}), "is a int"),
        (MergeClause(kind="matched", action="update", values={"": "1"}), "sets ''"),
        (MergeClause(kind="matched", action="delete", where=""), "condition of WHEN MATCHED"),
        (MergeClause(kind="matched", action="delete", where=5), "is '5'"),  # type: ignore[arg-type]
    ],
)
def test_a_clause_that_cannot_be_meant_is_refused(clause: MergeClause, words: str) -> None:
    refused(asked(clause), words)


def test_what_a_merge_may_do_to_a_row_several_times() -> None:
    assert asked(DELETE, INSERT).takes_any_match
    assert asked(INSERT).takes_any_match
    assert asked(INSERT).is_insert_only
    assert not asked(UPDATE).takes_any_match
    assert not asked(
        MergeClause(kind="matched", action="delete", where="source.v > 1")
    ).takes_any_match
    assert not asked(DELETE, INSERT).is_insert_only
