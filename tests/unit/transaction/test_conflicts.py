"""Which winner a staged commit may follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.errors import ConflictError, CorruptLogError
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.commit_json import ActionLine, render_action, render_lines
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.transaction.concurrent_commit import parse_concurrent_commit
from explorer.transaction.conflicts import find_conflict
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.staged import Provenance, StagedCommit

PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)
METADATA = Metadata(id="t")
ADD = AddFile(path="a.parquet", partition_values={}, size=1, modification_time=1)
REMOVE = RemoveFile(path="r.parquet", deletion_timestamp=1, partition_values={}, size=1)
APPEND = StagedCommit(
    base=ReadVersion(version=4, protocol=PROTOCOL, metadata=METADATA),
    reads=NOTHING,
    provenance=Provenance(operation="WRITE", transaction_id="t", engine_info="e"),
    actions=(
        ADD,
        Transaction(app_id="app", version=1),
        DomainMetadata(domain="dom", configuration="{}", removed=False),
    ),
)
UPDATE = replace(APPEND, reads=WHOLE_TABLE, actions=(ADD, REMOVE))
REWRITE = replace(APPEND, actions=(ADD, REMOVE))

FOREIGN_ADD = render_action(replace(ADD, path="b.parquet"))
REARRANGED = render_action(replace(ADD, path="b.parquet", data_change=False))
FOREIGN_REMOVE = render_action(replace(REMOVE, path="s.parquet"))
NEW_PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}
SAME_PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
NEW_METADATA = {"metaData": {"id": "x"}}


def rule_against(staged: StagedCommit, *lines: ActionLine) -> str | None:
    winner = parse_concurrent_commit(5, render_lines([{"commitInfo": {}}, *lines]))
    conflict = find_conflict(staged, winner)
    return None if conflict is None else conflict.rule


@pytest.mark.rule("action-domain-conflict")
@pytest.mark.parametrize(
    ("staged", "line", "rule"),
    [
        (APPEND, NEW_PROTOCOL, "protocol changed"),
        (APPEND, SAME_PROTOCOL, None),
        (APPEND, NEW_METADATA, "metadata changed"),
        (APPEND, {"txn": {"appId": "app", "version": 9}}, "concurrent transaction"),
        (APPEND, {"txn": {"appId": "other", "version": 9}}, None),
        (APPEND, {"domainMetadata": {"domain": "dom"}}, "domain metadata"),
        (APPEND, {"domainMetadata": {"domain": "other"}}, None),
        (APPEND, FOREIGN_ADD, None),
        (APPEND, FOREIGN_REMOVE, None),
        (REWRITE, FOREIGN_ADD, None),
        (REWRITE, FOREIGN_REMOVE, None),
        (REWRITE, render_action(REMOVE), "concurrent delete-delete"),
        (UPDATE, FOREIGN_ADD, "concurrent append"),
        (UPDATE, REARRANGED, None),
        (UPDATE, {"add": {"path": "b"}}, "concurrent append"),
        (UPDATE, FOREIGN_REMOVE, "concurrent delete-read"),
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
    assert rule_against(staged, winner) == "concurrent delete-delete"


def test_conflict_becomes_an_error_that_tells_who_and_what() -> None:
    who = {"operation": "DELETE", "userName": "ann", "engineInfo": "Other/1.0"}
    files = [render_action(replace(REMOVE, path=f"{name}.parquet")) for name in "abcde"]
    staged = replace(
        APPEND, actions=tuple(replace(REMOVE, path=f"{name}.parquet") for name in "abcde")
    )
    conflict = find_conflict(
        staged, parse_concurrent_commit(5, render_lines([{"commitInfo": who}, *files]))
    )
    assert conflict is not None
    error = conflict.as_error()
    assert isinstance(error, ConflictError)
    assert error.kind == "commit_conflict"
    assert error.problem == (
        "Version 5 was committed by another writer first (DELETE, ann, Other/1.0)."
    )
    assert error.reason == (
        "It removed or changed a file that this commit removes, too. Both touch these paths: "
        "a.parquet, b.parquet, c.parquet and 2 more (concurrent delete-delete)."
    )


def test_conflict_of_an_unknown_writer_is_told_without_a_name() -> None:
    conflict = find_conflict(APPEND, parse_concurrent_commit(5, render_lines([NEW_PROTOCOL])))
    assert conflict is not None
    assert conflict.as_error().problem == "Version 5 was committed by another writer first."


def test_winner_that_is_not_readable_is_an_error_with_its_place() -> None:
    with pytest.raises(CorruptLogError, match=r"00000000000000000005\.json:2"):
        parse_concurrent_commit(5, b'{"commitInfo":{}}\n{"add":\n')


def test_only_appends_are_blind() -> None:
    assert APPEND.is_blind_append
    assert not REWRITE.is_blind_append
    assert not replace(APPEND, reads=WHOLE_TABLE).is_blind_append
