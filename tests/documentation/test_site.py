"""The documentation is a site that is whole, and that fetches nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; `--strict` fails on every link and anchor that leads nowhere."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_reference_is_made_from_the_code(site: Path) -> None:
    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert all(f'id="{verb}"' in commands for verb in ("inspect", "vacuum", "serve", "doctor"))
    door = (site / "reference" / "explorer.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in door for name in ("open_table", "plan_scan", "read_changes"))
    assert 'id="TableExplorer"' in (site / "reference" / "widgets.html").read_text("utf-8") or (
        'id="tableexplorer"' in (site / "reference" / "widgets.html").read_text("utf-8")
    )


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//[^\"]+\""
        r"|<link[^>]+rel=\"(?:stylesheet|preconnect|preload|icon)\"[^>]+href=\"(?:https?:)?//[^\"]+\""
        r"|<link[^>]+href=\"(?:https?:)?//[^\"]+\"[^>]+rel=\"(?:stylesheet|preconnect|preload)\""
        r"|@import\s+url\((?:https?:)?//"
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    assert {page.name: loaded.findall(page.read_text("utf-8")) for page in pages} == {
        page.name: [] for page in pages
    }


def test_every_page_can_be_reached_from_the_first(site: Path) -> None:
    left, seen = [site / "index.html"], set()
    while left:
        page = left.pop()
        if page in seen or not page.is_file():
            continue
        seen.add(page)
        links = re.findall(r'href="([^"#:?]+\.html)', page.read_text(encoding="utf-8"))
        left += [(page.parent / link).resolve() for link in links]
    assert {*site.rglob("*.html")} - seen == {site / "404.html"}
