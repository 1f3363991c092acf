"""When the schema changed, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.inspect.columns.schema_history import sides_in_words
from explorer.storage.local import LocalStore
from tests.data_tables import field, mapped, struct
from tests.tables import PROTOCOL, Action, LogFolder, add, metadata

ID = field("id", "integer")
NOTE = field("note", "string")
MAPPED = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping"],
        "writerFeatures": ["columnMapping"],
    }
}


def table_of(*fields: dict[str, Any], **others: Any) -> Action:
    return metadata(schemaString=json.dumps(struct(*fields)), **others)


def renamed_table(*fields: dict[str, Any]) -> Action:
    return table_of(*fields, configuration={"delta.columnMapping.mode": "name"})


def info(operation: str) -> Action:
    return {"commitInfo": {"operation": operation, "userName": "ana", "engineInfo": "E/1"}}


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "table")


def changes_of(folder: LogFolder, version: int | None = None) -> list[tuple[Any, ...]]:
    frame = look.schema_history(explorer.open_table(folder.root), version)
    names = ("version", "kind", "path", "before", "after")
    return [tuple(row[name] for name in names) for row in frame.to_pylist()]


def test_each_version_tells_its_fields_and_one_that_repeats_the_schema_is_left_out(
    folder: LogFolder,
) -> None:
    folder.commit(0, [PROTOCOL, table_of(ID)])
    folder.commit(1, [add("metaData")])
    folder.commit(2, [info("ADD COLUMNS"), table_of(ID, NOTE)])
    folder.commit(3, [table_of(ID, NOTE, configuration={"a": "b"})])
    wide = field("id", "long", nullable=False, comment="the key")
    folder.commit(4, [table_of(wide, field("note", "string", CURRENT_DEFAULT="'x'"))])
    folder.commit(5, [table_of(wide)])
    assert changes_of(folder) == [
        (5, "dropped", "note", "string", None),
        (4, "nullability", "id", "nullable", "not null"),
        (4, "comment", "id", None, "the key"),
        (4, "widened", "id", "integer", "long"),
        (4, "default", "note", None, "'x'"),
        (2, "added", "note", None, "string"),
        (0, "created", "", None, "1 column: id"),
    ]
    assert changes_of(folder, 2)[0][0] == 2
    fourth = look.schema_history(explorer.open_table(folder.root), 4)
    assert look.schema_history_sentence(fourth).endswith(
        "last in version 4: nullability of 1 column changed, comment of 1 changed, 1 widened, "
        "default of 1 changed."
    )
    added = look.schema_history(explorer.open_table(folder.root)).to_pylist()[5]
    assert (added["operation"], added["user_name"], added["engine_info"]) == (
        "ADD COLUMNS",
        "ana",
        "E/1",
    )
    assert (added["log_file"], added["line"]) == ("00000000000000000002.json", 2)
    sentence = look.schema_history_sentence(look.schema_history(explorer.open_table(folder.root)))
    assert sentence == "The schema changed in 3 versions, last in version 5: 1 column dropped."


def test_what_was_taken_away_does_not_look_like_what_was_given(folder: LogFolder) -> None:
    said = field("id", "integer", comment="the key")
    folder.commit(0, [PROTOCOL, table_of(ID)])
    folder.commit(1, [table_of(said, NOTE)])
    folder.commit(2, [table_of(ID)])
    frame = look.schema_history(explorer.open_table(folder.root))
    assert [sides_in_words(row) for row in frame.to_pylist()] == [
        ["the key", "(none)"],
        ["string"],
        ["(none)", "the key"],
        ["string"],
        ["1 column: id"],
    ]


def test_a_rename_under_mapping_is_one_and_the_marks_of_identity_columns_are_none(
    folder: LogFolder,
) -> None:
    def numbered(mark: int) -> dict[str, Any]:
        key = mapped("id", "long", "id", 1)
        key["metadata"] |= {"delta.identity.start": 1, "delta.identity.highWaterMark": mark}
        return key

    folder.commit(0, [MAPPED, renamed_table(numbered(1), mapped("a", "string", "c-1", 2))])
    folder.commit(1, [renamed_table(numbered(9), mapped("a", "string", "c-1", 2))])
    folder.commit(2, [renamed_table(numbered(9), mapped("b", "string", "c-1", 2))])
    assert changes_of(folder)[:-1] == [(2, "renamed", "b", "a", "b")]


def test_a_log_that_was_cleaned_says_from_which_version_on_it_knows(folder: LogFolder) -> None:
    folder.checkpoint(5, [PROTOCOL, table_of(ID)])
    folder.commit(4, [add("a")])
    folder.commit(5, [add("b")])
    folder.commit(6, [table_of(ID, NOTE)])
    frame = look.schema_history(explorer.open_table(folder.root))
    assert changes_of(folder) == [
        (6, "added", "note", None, "string"),
        (4, "known", "", None, "1 column: id"),
    ]
    assert frame["version_exact"].to_pylist() == [True, False]
    assert "before version 4 is not known" in look.schema_history_sentence(frame)


def test_a_change_in_a_commit_that_is_missing_is_told_with_the_doubt(folder: LogFolder) -> None:
    folder.commit(0, [PROTOCOL, table_of(ID)])
    folder.checkpoint(3, [PROTOCOL, table_of(ID, NOTE)])
    folder.commit(3, [add("a")])
    folder.commit(4, [add("b")])
    frame = look.schema_history(explorer.open_table(folder.root))
    assert changes_of(folder)[0] == (3, "added", "note", None, "string")
    assert frame["version_exact"].to_pylist() == [False, True]


def test_a_schema_that_cannot_be_read_is_told_and_the_next_is_held_against_the_last_good(
    folder: LogFolder,
) -> None:
    folder.commit(0, [PROTOCOL, table_of(ID)])
    folder.commit(1, [metadata(schemaString="{")])
    folder.commit(2, [table_of(ID, NOTE)])
    assert [row[:3] for row in changes_of(folder)] == [
        (2, "added", "note"),
        (1, "unreadable", ""),
        (0, "created", ""),
    ]


def test_a_first_schema_that_cannot_be_read_is_not_told_as_a_log_that_is_gone(
    folder: LogFolder,
) -> None:
    folder.commit(0, [PROTOCOL, metadata(schemaString="{")])
    folder.commit(1, [add("a")])
    folder.commit(2, [table_of(ID)])
    frame = look.schema_history(explorer.open_table(folder.root))
    assert [row[:2] for row in changes_of(folder)] == [(2, "known"), (0, "unreadable")]
    assert frame["meaning"][0].as_py() == "No earlier version has a schema that can be read."
    assert frame["version_exact"].to_pylist() == [True, True]
    assert look.schema_history_sentence(frame) == (
        "The schema changed in 1 version, last in version 0: schema unreadable. What was before "
        "version 2 is not known: no schema there can be read."
    )


def test_a_longer_log_is_read_on_from_the_last_commit(
    folder: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.commit(0, [PROTOCOL, table_of(ID)])
    table = explorer.open_table(folder.root)
    look.schema_history(table)
    folder.commit(1, [table_of(ID, NOTE)])
    asked: list[str] = []
    read = LocalStore.read_many

    def watched(self: LocalStore, paths: Any) -> Any:
        asked.extend(paths := list(paths))
        return read(self, paths)

    monkeypatch.setattr(LocalStore, "read_many", watched)
    assert look.schema_history(table)["kind"].to_pylist() == ["added", "created"]
    assert asked == ["_delta_log/00000000000000000001.json"]
