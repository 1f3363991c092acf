"""The health of a log on the page: findings with their evidence, cost, what is missing."""

from __future__ import annotations

import html
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from tests.data_tables import DataTable, field, struct
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.ui.live_html import LiveHtml


def orders(folder: Path, versions: int = 4) -> LogFolder:
    log = LogFolder(folder / "orders")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    for version in range(1, versions):
        log.commit(version, [add(f"{version}.parquet")])
    return log


def test_a_sound_log_is_said_to_be_sound(tmp_path: Path) -> None:
    root = orders(tmp_path).root
    page = Page().open(root, view="health")
    sentence = look.log_health(explorer.open_table(root)).sentence
    assert html.escape(sentence) in page.html
    assert "nothing is wrong" in page.html
    assert "Plan " not in page.html


def test_a_broken_hint_is_found_with_its_evidence_and_leads_to_its_repair(tmp_path: Path) -> None:
    log = orders(tmp_path)
    log.write("_last_checkpoint", "{")
    page = Page().open(log.root, view="health")
    assert "<code>_last_checkpoint</code>" in page.html
    assert '<span class="dx-chip">repair hint</span>' in page.html
    page.do("plan-now", '["repair", {"what": "hint"}]')
    assert page.state.view == "maintenance"
    assert "Make the plan" not in page.html  # but the plan
    assert page.state.plan_request is None


def test_a_table_that_cannot_be_opened_is_judged_all_the_same(tmp_path: Path) -> None:
    log = orders(tmp_path)
    (log.log / f"{0:020}.json").unlink()
    page = Page().open(log.root, view="health")
    assert "<h3>Health</h3>" in page.html
    assert "dx-tone-gone" in page.html
    assert "unknown" in page.html


def test_files_that_are_gone_are_found_on_demand_and_lead_to_their_reason(tmp_path: Path) -> None:
    log = orders(tmp_path)
    for name in ("a", "1", "3"):
        (log.root / f"{name}.parquet").write_bytes(b"x" * 100)
    page = Page().open(log.root, view="health")
    assert "that are gone" not in page.html
    page.do("files")
    assert "2.parquet" in page.html
    assert "1\N{EN DASH}1 of 1 file" in page.html
    page.do("file", "2.parquet")
    assert (page.state.view, page.state.file) == ("reach", "2.parquet")


def test_nulls_where_none_may_be_are_found_on_demand(tmp_path: Path) -> None:
    made = DataTable(tmp_path / "t", struct(field("k", "long"), field("late", "string", False)))
    made.add("old.parquet", pa.table({"k": [1]}))
    page = Page().open(made.write(), view="health")
    assert "nothing is wrong" in page.html
    page.do("files")
    assert "1 live file has nulls in the NOT NULL column `late`." in page.html
    assert "<code>old.parquet</code>" in page.html


def test_the_bytes_of_the_log_are_told_by_kind(tmp_path: Path) -> None:
    log = orders(tmp_path)
    log.checkpoint(2, [PROTOCOL, metadata(), add("a.parquet")])
    page = Page().open(log.root, view="health")
    table = page.html.partition("Bytes of the log by kind")[2]
    assert ">commit<" in table
    assert ">checkpoint<" in table


def test_findings_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    log = orders(tmp_path)
    log.write("_last_checkpoint", "{")
    page = Page().open(log.root, view="health")
    part = next(part for part in page.parts() if "dx-findings" in part.html)
    part._handle_msg({"action": "export", "value": ""})
    lines = saved["findings.csv"].splitlines()
    assert lines[0] == "severity,finding,problem,reason,evidence,spec,remedy,repair"
    assert any("repair hint" in line for line in lines[1:])


def test_bytes_of_the_log_over_time_are_drawn_where_there_is_a_time(tmp_path: Path) -> None:
    grown, young = orders(tmp_path / "one"), orders(tmp_path / "two")
    for version in range(4):
        grown.time(version, 1_700_000_000_000 + version * 86_400_000)
        young.time(version, 1_700_000_000_000)
    assert "Bytes of the log over time" in Page().open(grown.root, view="health").html
    assert "Bytes of the log over time" not in Page().open(young.root, view="health").html
