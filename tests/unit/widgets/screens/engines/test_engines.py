"""Who can read and write a table, as the page tells it."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.engines._parts import (
    build_engine_row,
    matches,
    render_engine,
    tell_note,
    tell_stoppers,
)
from widgets.screens.engines.ask import EngineAnswer, read_engines
from widgets.session.tables import TableService
from widgets.ui.live_html import LiveHtml

EVIL = "<img src=/evil onerror=window.ran=1>"


def protocol(*features: str) -> dict[str, Any]:
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": list(features),
            "writerFeatures": list(features),
        }
    }


def table(folder: Path, *features: str) -> Path:
    log = LogFolder(folder / "orders")
    first = protocol(*features) if features else PROTOCOL
    log.commit(0, [first, metadata(name="orders"), add("a.parquet")])
    return log.root


def answer(place: Path) -> EngineAnswer:
    return read_engines(TableService(explorer.open_table(place)), 0)


def row(found: EngineAnswer, engine: str) -> dict[str, Any]:
    return found.releases(engine)[0]


def test_a_plain_table_is_read_by_engines_that_a_vector_stops(tmp_path: Path) -> None:
    plain = answer(table(tmp_path / "plain"))
    vectors = answer(table(tmp_path / "vectors", "deletionVectors"))
    assert row(plain, "daft")["can_read"] == "yes"
    assert row(vectors, "daft")["can_read"] == "no"
    assert tell_stoppers(row(vectors, "daft"), "read") == "deletionVectors"
    assert "deletionVectors stops" in vectors.sentence
    assert "no reader is known to be stopped" in plain.sentence


def test_unknown_is_told_as_unknown_and_never_as_no(tmp_path: Path) -> None:
    found = answer(table(tmp_path, "deletionVectors"))
    unknown = [one for one in found.newest if one["can_write"] == "unknown"]
    assert unknown
    for one in unknown:
        shown = build_engine_row(one, "write", None)
        assert shown.cells[2].text == "unknown"
        assert shown.cells[3].text == "unknown"
        assert tell_note(one, "write").startswith("no source says")


def test_an_engine_that_wrote_the_table_is_not_told_as_unknown_alone(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    info = {"commitInfo": {"operation": "WRITE", "engineInfo": "DuckDB/1.4.0"}}
    log.commit(0, [protocol("deletionVectors"), metadata(name="orders")])
    log.commit(1, [info, add("b.parquet")])
    found = read_engines(TableService(explorer.open_table(log.root)), 1)
    one = row(found, "duckdb-delta")
    assert one["can_write"] == "unknown"
    shown = build_engine_row(one, "read", None, 1, found.last_version_of("duckdb-delta"))
    assert shown.cells[2].text == "wrote version 1"
    assert found.last_version_of("trino") is None


def test_what_stops_a_reader_from_writing_is_told(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    asked = protocol()
    asked["protocol"]["writerFeatures"] = ["inCommitTimestamp"]
    log.commit(0, [asked, metadata(name="orders")])
    one = row(answer(log.root), "delta-rs")
    assert (one["can_read"], one["can_write"]) == ("yes", "no")
    assert tell_stoppers(one, "read") == "writing: inCommitTimestamp"


def test_each_verdict_stands_with_its_source_and_day(tmp_path: Path) -> None:
    found = answer(table(tmp_path, "deletionVectors"))
    html = render_engine(found.releases("delta-spark"))
    assert '<a href="https://github.com/delta-io/delta/' in html
    assert 'rel="noopener noreferrer"' in html
    assert "As of 20" in html
    assert "proven" in html


def test_engines_are_found_by_what_stops_them(tmp_path: Path) -> None:
    found = answer(table(tmp_path, "deletionVectors"))
    assert matches(row(found, "daft"), "deletionVEC")
    assert matches(row(found, "daft"), "daft")
    assert not matches(row(found, "delta-spark"), "deletionvec")


def test_the_view_filters_by_direction_and_verdict(tmp_path: Path) -> None:
    page = Page().open(table(tmp_path, "deletionVectors"), view="engines")
    everyone = page.html.count('data-do="engine"')
    assert everyone > 30
    page.do("verdict", "no")
    cannot_read = page.html.count('data-do="engine"')
    page.do("verb", "write")
    cannot_write = page.html.count('data-do="engine"')
    assert 0 < cannot_read < cannot_write < everyone
    page.do("filter", "daft")
    assert page.html.count('data-do="engine"') == 1
    page.do("engine", "daft")
    assert "Based on" in page.html
    page.do("close")
    page.do("filter", "no such engine")
    assert "No engine matches." in page.html


@pytest.mark.parametrize(
    ("action", "value"), [("verb", "both"), ("verdict", "maybe"), ("engine", EVIL), ("page", "-1")]
)
def test_a_message_that_cannot_be_meant_changes_nothing(
    tmp_path: Path, action: str, value: str
) -> None:
    page = Page().open(table(tmp_path), view="engines")
    before = page.html
    for part in list(page.parts()):
        part._handle_msg({"action": action, "value": value})
    assert page.html == before
    assert page.explorer.panel.visible


def test_a_refused_table_still_says_who_can_read_it(tmp_path: Path) -> None:
    page = Page().open(table(tmp_path, EVIL), view="engines")
    assert "engines can read this table" in page.html
    assert EVIL not in page.html
    assert "onerror=window.ran=1" in page.html
    page.do("engine", "delta-spark")
    assert EVIL not in page.html


def test_the_export_holds_what_is_listed_and_no_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page().open(table(tmp_path, "=1+1"), view="engines")
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(LiveHtml, "_send_msg", lambda _, message: sent.append(message))
    page.do("verdict", "no")
    page.do("export")
    (message,) = sent
    lines = base64.b64decode(message["data"]).decode().splitlines()
    assert lines[0].startswith("name,kind,release,can_read")
    assert len(lines) == page.html.count('data-do="engine"') + 1
    assert ",=1+1" not in "".join(lines)


def test_the_protocol_view_leads_to_the_engines(tmp_path: Path) -> None:
    page = Page().open(table(tmp_path, "deletionVectors"), view="protocol")
    assert "deletionVectors stops" in page.html
    page.do("engines")
    assert page.state.view == "engines"


def test_engines_of_this_table_come_first_with_their_commits(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    info = {"operation": "WRITE", "engineInfo": "Apache-Spark/3.5.0 Delta-Lake/3.2.0"}
    log.commit(0, [{"commitInfo": info}, PROTOCOL, metadata(), add("a.parquet")])
    for version, told in ((1, "Daft/0.3"), (2, "Daft/0.4"), (3, EVIL)):
        log.commit(version, [{"commitInfo": {"engineInfo": told}}])
    log.commit(4, [add("b.parquet")])
    used = look.engines_in_use(explorer.open_table(log.root)).to_pylist()
    assert [(row["engine"], row["num_commits"], row["last_version"]) for row in used] == [
        ("daft", 2, 2),
        (None, 1, 4),
        (None, 1, 3),
        ("delta-spark", 1, 0),
    ]
    assert used[0]["engine_info"] == "Daft/0.4"
    page = Page().open(log.root, view="engines")
    assert "Daft (2 commits here)" in page.html
    first, second = page.html.split('data-do="engine"')[1:3]
    assert first.startswith(' data-value="daft"')
    assert second.startswith(' data-value="delta-spark"')
    assert "engine not recorded" in page.html
    assert EVIL not in page.html


def test_the_sentence_and_the_filter_count_the_same(tmp_path: Path) -> None:
    page = Page().open(table(tmp_path, "deletionVectors"), view="engines")
    (number,) = re.findall(r"(\d+) of \d+ engines can read", page.html)
    assert f">can {number}<" in page.html


def test_what_reads_no_table_at_all_is_told_apart_from_what_this_one_stops(tmp_path: Path) -> None:
    found = answer(table(tmp_path, "deletionVectors"))
    sink, stopped = row(found, "flink-new"), row(found, "daft")
    assert (sink["can_read"], sink["read_blockers"]) == ("no", [])
    assert tell_stoppers(sink, "read") == "sink only"
    assert tell_note(sink, "read") == ""
    ours, theirs = (build_engine_row(one, "read", None).cells[1] for one in (sink, stopped))
    assert (ours.text, ours.lane, ours.title) == ("no", None, "Of no table: sink only.")
    assert (theirs.text, theirs.lane) == ("no", "can-no")
    for one in found.newest:
        if one["can_read"] == "no":
            assert tell_stoppers(one, "read"), one["engine"]
