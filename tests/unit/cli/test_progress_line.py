"""Progress on standard error."""

from __future__ import annotations

import pytest

from explorer.cli.printing import terminal
from explorer.cli.printing.terminal import ProgressLine, show_progress
from explorer.progress import Progress

HALF = Progress(done=1, total=2, label="Reading [red]commits[/red]")


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress() as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_quick_work_shows_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as line:
        line.report(HALF)
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_a_bar_with_its_label_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_PATIENCE_SECONDS", 0)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich draws bars on terminals only
    with ProgressLine() as line:
        line.report(HALF)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Reading [red]commits[/red]" in err
    assert "1/2" in err
