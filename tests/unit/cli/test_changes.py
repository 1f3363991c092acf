"""The verb `changes`, run as a person runs it."""

from __future__ import annotations

import json
import re
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
    assert out[1].startswith("update_postimage")
    assert max(map(len, out)) <= 60


def test_names_of_columns_are_whole_and_those_that_do_not_fit_are_counted(
    corpus: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(corpus / "tables" / TABLE)
    for width, names in (("80", 6), ("50", 5), ("34", 2)):
        monkeypatch.setenv("COLUMNS", width)
        assert run(["changes", place, "4", "4"]) == 0
        heading, *_, last = capsys.readouterr().out.splitlines()
        whole = ["_change_type", "_commit_version", "id", "v", "p q", "_commit_timestamp"]
        assert re.split(r"\s{2,}", heading) == whole[:names]
        left = {6: "", 5: "1 more column; --json shows all", 2: "4 more columns; --json shows all"}
        assert last == left[names] or not left[names]


def test_a_table_without_the_feed_says_so(corpus: Path, capsys: Capture) -> None:
    place = str(corpus / "tables" / "golden-basic-with-inserts-merge")
    assert run(["changes", place, "0", "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "change_feed_unavailable"
    assert "delta.enableChangeDataFeed" in error["reason"]
