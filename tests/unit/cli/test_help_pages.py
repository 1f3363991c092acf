"""`--help`: every verb in its group, in one line; flags without a value."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.main import get_command

from explorer.cli.help_pages import first_line_of, group_of
from explorer.cli.main import run
from explorer.cli.plugins import register_plugin_verbs
from explorer.cli.verbs import build_app

WIDTH = 80


def registered() -> dict[str, Any]:
    app = build_app()
    register_plugin_verbs(app)
    return dict(get_command(app).commands)  # type: ignore[attr-defined]  # a group


VERBS = registered()


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def help_of(capsys: pytest.CaptureFixture[str], *verb: str) -> list[str]:
    assert run([*verb, "--help"]) == 0
    return capsys.readouterr().out.splitlines()


def test_every_verb_has_a_group_and_none_is_left_over() -> None:
    assert {name for name, verb in VERBS.items() if group_of(verb) == "Other verbs"} == set()


def test_the_list_has_one_line_for_each_verb_by_groups(capsys: pytest.CaptureFixture[str]) -> None:
    lines = help_of(capsys)
    assert max(map(len, lines)) <= WIDTH
    for name, verb in VERBS.items():
        found = [line for line in lines if re.match(rf"  {name} ", line)]
        assert found == [f"  {name:12}  {first_line_of(verb)}"]
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert len(titles) == 7
    assert titles[-1] == "Options:"


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_page_shows_flags_as_flags_and_its_example_on_one_line(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = help_of(capsys, name)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= WIDTH
    assert not re.search(r"<\w+>|BOOL|│|\{", text)
    assert lines[lines.index("Example:") + 1].startswith(f"  delta-explorer {name}")
    for option in VERBS[name].params:
        if getattr(option, "is_flag", False):
            assert re.search(rf"{option.opts[0]}(  | / --|\n)", text), option.opts


def test_usage_names_what_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    usage = help_of(capsys, "constraint")[0]
    assert usage == "Usage: delta-explorer constraint URI [add|drop] [NAME] [EXPR] [OPTIONS]"
    assert "  --open / --no-open  Open a browser on the page." in help_of(capsys, "serve")
    assert "Options of a server for others:" in help_of(capsys, "serve")
    required = [line for line in help_of(capsys, "update") if "(required)" in line]
    assert [line.split()[-1] for line in required] == ["(required)"]
