"""The files of the log on the page: their names, and the commits that they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.log.view import _render_name


def test_a_commit_leads_to_its_page_and_other_files_lead_nowhere(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    log.commit(1, [add("b.parquet")])
    (log.root / "_delta_log" / f"{0:020}.crc").write_text("{}")
    page = Page().open(log.root, view="log")
    assert "3 files" in page.html
    assert re.findall(r'data-do="commit" data-value="(\d+)"', page.html) == ["1", "0"]
    page.do("commit", "0")
    assert (page.state.view, page.state.version) == ("commit", 0)


@pytest.mark.parametrize("text", ["2", "-1", "x", ""])
def test_a_commit_that_cannot_be_meant_is_ignored(tmp_path: Path, text: str) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    page = Page().open(log.root, view="log")
    page.do("commit", text)
    assert (page.state.view, page.state.version) == ("log", 0)


@pytest.mark.parametrize(
    ("name", "given_up", "left"),
    [
        (f"{74:020}.json", ["0" * 16], "0074.json"),
        (f"{123456:020}.json", ["0" * 14], "123456.json"),
        (
            f"{70:020}.checkpoint.{1:010}.{2:010}.parquet",
            ["0" * 16, "0" * 6, "0" * 6],
            "0070.checkpoint.0001.0002.parquet",
        ),
        (f"_sidecars/{'0' * 8}-a.parquet", [], f"_sidecars/{'0' * 8}-a.parquet"),
        ("_last_checkpoint", [], "_last_checkpoint"),
        ("1" * 20 + ".json", [], "1" * 20 + ".json"),
    ],
)
def test_leading_zeros_of_a_name_can_be_given_up(name: str, given_up: list[str], left: str) -> None:
    shown = _render_name(name)
    zeros = r'<span class="dx-zeros">(0+)</span>'
    assert re.findall(zeros, shown) == given_up
    assert re.sub(zeros, "", shown).replace("<wbr>", "") == left
    assert re.sub(r"<[^>]*>", "", shown) == name


def test_a_hostile_name_is_escaped() -> None:
    assert "<img" not in _render_name("<img src=x>.json")
