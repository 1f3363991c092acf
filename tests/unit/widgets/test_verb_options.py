"""The verb `serve` reads storage options as every other verb does."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import widgets.verbs


def test_serve_reads_truth_values_of_storage_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(
        widgets.verbs, "serve_tables", lambda uris, **named: asked.update(named, uris=uris)
    )
    app = typer.Typer()

    @app.callback()
    def several() -> None:
        """A verb must be named, as on the real command line."""

    widgets.verbs.register_serve(app)
    words = ["serve", "s3://bucket/t", "--no-open", "--option", "anon=true", "--option", "key=12"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert asked["storage_options"] == {"anon": True, "key": "12"}
    assert asked["uris"] == ["s3://bucket/t"]
    assert asked["open_browser"] is False
