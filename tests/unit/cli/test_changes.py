"""The verb `changes`, run as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.cli.main import run

TABLE = "spark44-cdf-all-operations"

Capture = pytest.CaptureFixture[str]


def test_json_is_one_document_with_the_rows(corpus: Path, capsys: Capture) -> None:
    place = str(corpus / "tables" / TABLE)
    assert run(["changes", place, "0", "8", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["is_cut"]) == (1, False)
    # 55 + 91 + 14 + 14, by the manifest
    assert len(document["rows"]) == 174
    assert document["columns"][-1] == {
        "name": "_commit_timestamp",
        "type": "timestamp[ms, tz=UTC]",
    }
    assert document["rows"][0]["_commit_timestamp"].endswith("Z")
    run(["changes", place, "0", "--json", "--limit", "2"])
    document = json.loads(capsys.readouterr().out)
    assert (document["is_cut"], len(document["rows"])) == (True, 2)


def test_people_see_what_happened_first(
    corpus: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["changes", str(corpus / "tables" / TABLE), "4", "4"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()[0] == "_change_type"
    assert out[1].startswith("update_post")
    assert max(map(len, out)) <= 60


def test_a_table_without_the_feed_says_so(corpus: Path, capsys: Capture) -> None:
    place = str(corpus / "tables" / "golden-basic-with-inserts-merge")
    assert run(["changes", place, "0", "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "change_feed_unavailable"
    assert "delta.enableChangeDataFeed" in error["reason"]
