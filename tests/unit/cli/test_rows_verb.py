"""The verb `rows`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli.main import run
from tests.change_feeds import Feed, hiding
from tests.data_tables import field, struct
from tests.tables import add, metadata, remove

EVIL = "\x1b]0;owned\x07[red]m[/red]\n\u202e:boom:"


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    schema = struct(field("id", "long"), field("name", "string"))
    feed = Feed(tmp_path / "t", metadata(schemaString=json.dumps(schema)))
    feed.file("a", id=[1, 2], name=["x", EVIL])
    feed.commit({"commitInfo": {"operation": EVIL, "userName": EVIL}}, add("a"))
    feed.commit({"commitInfo": {"operation": "DELETE"}}, remove("a"), add("a", **hiding(1)))
    return feed


def test_json_is_one_document_with_versions_and_rows(
    feed: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rows", str(feed.folder.root), "id = 2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["first"], document["last"]) == (1, 0, 2)
    assert [row["version"] for row in document["versions"]] == [1, 2]
    assert [row["_change_type"] for row in document["rows"]] == ["insert", "delete"]
    assert (document["at_start"], document["unread"], document["is_cut"]) == (None, [], False)


def test_people_get_the_sentence_first_and_nothing_that_drives_the_terminal(
    feed: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rows", str(feed.folder.root), "id = 2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "version 2 (DELETE) deleted 1 row." in lines[0]
    assert all(line.isprintable() for line in lines)
    (deleted,) = (line for line in lines if line.startswith("delete "))
    assert deleted.split()[1] == "2"


def test_search_may_begin_later_and_read_fewer_files(
    feed: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(feed.folder.root)
    assert run(["rows", root, "id = 2", "--from", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in document["at_start"]] == [2]
    assert run(["rows", root, "id = 2", "--files", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_cut"]


@pytest.mark.parametrize("where", ["nobody = 1", "id ="])
def test_condition_that_cannot_be_understood_is_a_mistake_of_the_caller(
    feed: Feed, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rows", str(feed.folder.root), where, "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "invalid_argument"
