"""What the tests of the page's maintenance share."""

from __future__ import annotations

from pathlib import Path

import pytest

import widgets.session.work
from explorer.errors import Problem
from explorer.maintenance import StateFolder
from tests.unit.widgets.orders import Orders


@pytest.fixture
def no_surprises(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw fails the test instead of becoming a notice."""

    def fail(error: Exception) -> Problem:
        raise AssertionError("not foreseen") from error

    monkeypatch.setattr(widgets.session.work, "unexpected", fail)


@pytest.fixture
def orders(tmp_path: Path) -> Orders:
    return Orders(tmp_path)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "state")
