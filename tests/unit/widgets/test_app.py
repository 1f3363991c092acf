"""The served page without a browser, and the verbs that open it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from explorer.errors import InvalidArgumentError, StorageError
from widgets.app import build_server, page_link
from widgets.served.settings import Settings
from widgets.verbs import open_page, register_serve

ROOT = Path(__file__).resolve().parents[3]


def test_a_link_to_the_page_holds_no_secret() -> None:
    link = page_link(Settings(uris=("https://user:hunter2@host/t?sig=hunter2",)), 5006)
    assert link == "http://localhost:5006/?table=https%3A%2F%2Fhost%2Ft"


def test_a_link_without_tables_leads_to_the_start() -> None:
    assert page_link(Settings(address="0.0.0.0"), 5006) == "http://localhost:5006/"


def test_a_place_that_is_none_is_refused_before_anything_is_served() -> None:
    with pytest.raises(InvalidArgumentError):
        build_server(Settings(uris=(" ",)))


def test_a_port_that_is_taken_ends_in_one_clear_error() -> None:
    server = build_server(Settings())
    try:
        with pytest.raises(StorageError) as taken:
            open_page([], port=server.port, address="127.0.0.1", show=False, storage_options=None)
        assert str(server.port) in taken.value.problem
    finally:
        server.stop()


@pytest.mark.slow
def test_help_of_serve_shows_an_example_and_loads_no_panel() -> None:
    code = (
        "import sys, typer\n"
        "from typer.testing import CliRunner\n"
        "from widgets.verbs import register_serve\n"
        "app = typer.Typer()\n"
        "app.callback()(lambda: None)\n"
        "register_serve(app)\n"
        "result = CliRunner().invoke(app, ['serve', '--help'])\n"
        "assert result.exit_code == 0, result.output\n"
        "assert 'Example' in result.output\n"
        "heavy = {'panel', 'bokeh', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_storage_option_without_a_value_is_refused() -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    register_serve(app)
    result = CliRunner().invoke(app, ["serve", "--option", "anon"])
    assert isinstance(result.exception, InvalidArgumentError)


def test_importing_the_front_door_loads_no_panel() -> None:
    code = (
        "import sys, widgets; assert not {'panel', 'bokeh'} & set(sys.modules); print(dir(widgets))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['TableExplorer', 'serve']"
