"""Verbs that other packages bring."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import typer

from explorer.cli import plugins
from explorer.cli.main import run
from explorer.errors import UnsupportedError

OPENED: list[tuple[Any, ...]] = []


def register_wave(app: typer.Typer) -> None:
    @app.command("wave")
    def wave() -> None:
        """Wave."""
        typer.echo("waving")


def open_page(uris: list[str], **options: Any) -> None:
    OPENED.append((uris, options))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The entry points that are installed; a test may change them."""
    held = {"wave": f"{__name__}:register_wave", "open_page": f"{__name__}:open_page"}

    def find(group: str) -> list[EntryPoint]:
        found = [EntryPoint(name, value, group) for name, value in held.items()]
        return [*found, *found]  # an editable install beside a wheel

    monkeypatch.setattr(plugins, "entry_points", find)
    OPENED.clear()
    return held


def test_a_plugin_verb_runs_and_is_listed(
    installed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["wave"]) == 0
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert "waving" in out
    assert "open_page" not in out


def test_no_plugin_is_loaded_for_a_verb_of_ours(
    installed: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed["wave"] = "no_such_module:register"
    assert run(["inspect", str(tmp_path)]) == 1
    assert "no_such_module" not in capsys.readouterr().err


def test_a_plugin_that_cannot_be_loaded_says_so_only_when_it_is_called(
    installed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    installed["wave"] = "no_such_module:register"
    assert run(["--help"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["wave", "x", "--port", "5"]) == 1
    assert "`wave` cannot be loaded" in capsys.readouterr().err


@pytest.mark.slow
def test_demo_opens_the_page_on_what_it_wrote(installed: dict[str, str], tmp_path: Path) -> None:
    assert run(["demo", str(tmp_path / "d"), "--port", "7", "--no-open"]) == 0
    ((uris, options),) = OPENED
    assert uris == [str(tmp_path / "d")]
    assert options == {
        "port": 7,
        "address": "127.0.0.1",
        "show": False,
        "storage_options": None,
    }


def test_without_the_page_demo_says_so_before_it_writes(
    installed: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del installed["open_page"]
    assert run(["demo", str(tmp_path / "d")]) == 1
    assert "--write-only" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()
    with pytest.raises(UnsupportedError):
        plugins.load_open_page()
