"""Which winner a staged commit may follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.errors import ConflictError, CorruptLogError
from explorer.protocol.actions import DomainMetadata, Transaction
from explorer.protocol.commit_json import ActionLine, render_action, render_lines
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.transaction.conflicts import find_conflict, parse_winner
from explorer.transaction.staged import Provenance, StagedCommit

ADD = AddFile(path="a.parquet", partition_values={}, size=1, modification_time=1)
REMOVE = RemoveFile(path="r.parquet", deletion_timestamp=1, partition_values={}, size=1)
APPEND = StagedCommit(
    read_version=4,
    reads="nothing",
    provenance=Provenance(operation="WRITE", transaction_id="t", engine_info="e"),
    actions=(
        ADD,
        Transaction(app_id="app", version=1),
        DomainMetadata(domain="dom", configuration="{}", removed=False),
    ),
    last_timestamp=None,
)
UPDATE = replace(APPEND, reads="everything", actions=(ADD, REMOVE))
REWRITE = replace(APPEND, actions=(ADD, REMOVE))

FOREIGN_ADD = render_action(replace(ADD, path="b.parquet"))
REARRANGED = render_action(replace(ADD, path="b.parquet", data_change=False))
FOREIGN_REMOVE = render_action(replace(REMOVE, path="s.parquet"))
PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
METADATA = {"metaData": {"id": "x"}}


def rule_against(staged: StagedCommit, *lines: ActionLine) -> str | None:
    winner = parse_winner(5, render_lines([{"commitInfo": {}}, *lines]))
    conflict = find_conflict(staged, winner)
    return None if conflict is None else conflict.rule


@pytest.mark.rule("action-domain-conflict")
@pytest.mark.parametrize(
    ("staged", "line", "rule"),
    [
        (APPEND, PROTOCOL, "protocol changed"),
        (APPEND, METADATA, "metadata changed"),
        (APPEND, {"txn": {"appId": "app", "version": 9}}, "same application"),
        (APPEND, {"txn": {"appId": "other", "version": 9}}, None),
        (APPEND, {"domainMetadata": {"domain": "dom"}}, "same domain"),
        (APPEND, {"domainMetadata": {"domain": "other"}}, None),
        (APPEND, FOREIGN_ADD, None),
        (APPEND, FOREIGN_REMOVE, None),
        (REWRITE, FOREIGN_ADD, None),
        (REWRITE, FOREIGN_REMOVE, None),
        (REWRITE, render_action(REMOVE), "removed twice"),
        (UPDATE, FOREIGN_ADD, "rows came"),
        (UPDATE, REARRANGED, None),
        (UPDATE, {"add": {"path": "b"}}, "rows came"),
        (UPDATE, FOREIGN_REMOVE, "rows went"),
        (UPDATE, {"cdc": {"path": "c"}}, None),
        (UPDATE, {"commitInfo": {"operation": "VACUUM START"}}, None),
    ],
)
def test_rule_decides_by_what_the_winner_did(
    staged: StagedCommit, line: ActionLine, rule: str | None
) -> None:
    assert rule_against(staged, line) == rule


def test_one_file_has_several_spellings_of_its_absolute_path() -> None:
    staged = replace(REWRITE, actions=(replace(REMOVE, path="file:///t/r.parquet"),))
    winner = render_action(replace(REMOVE, path="/t/r.parquet"))
    assert rule_against(staged, winner) == "removed twice"


def test_conflict_becomes_an_error_with_reason_and_remedy() -> None:
    conflict = find_conflict(APPEND, parse_winner(5, render_lines([PROTOCOL])))
    assert conflict is not None
    error = conflict.as_error()
    assert isinstance(error, ConflictError)
    assert error.kind == "commit_conflict"
    assert "5" in error.problem
    assert error.reason == conflict.reason


def test_winner_that_is_not_readable_is_an_error_with_its_place() -> None:
    with pytest.raises(CorruptLogError, match=r"00000000000000000005\.json:2"):
        parse_winner(5, b'{"commitInfo":{}}\n{"add":\n')


def test_only_appends_are_blind() -> None:
    assert APPEND.is_blind_append
    assert not REWRITE.is_blind_append
    assert not replace(APPEND, reads="everything").is_blind_append
