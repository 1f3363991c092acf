"""One record for each displayed fact: both doors take what it says, and nothing else."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from typer.main import get_command

from explorer.answers.registry import ANSWERS
from explorer.cli.verbs import build_app
from explorer.errors import InvalidArgumentError

SHOWN_BY_OPTION = {
    "change_totals": "changes",
    "columns_by_files": "schema",
    "hidden_rows": "dv",
    "row_blame": "rows",
    "row_differences": "diff",
    "schema_history": "schema",
}
"""The verb of a fact that has none of its own name."""

OF_THE_TERMINAL = {
    "changes": {"count"},
    "diff": {"changed_rows"},
    "health": {"fail_on"},
    "rows": {"blame"},
    "schema": {"files", "history"},
}
"""Options that choose between the facts of a verb, or say how it ends."""

OF_EVERY_VERB = {"uri", "option", "as_json"}
KINDS = {"count": int, "flag": bool, "text": str, "whole": int}
WITHOUT_A_FACT = {"demo", "doctor"}
APP = build_app()
COMMANDS: dict[str, Any] = get_command(APP).commands  # type: ignore[attr-defined]  # a group
LOOKING = [
    name
    for name, command in COMMANDS.items()
    if command.rich_help_panel not in {"Change a table", "Plans and receipts"}
    and name not in WITHOUT_A_FACT
]


def verb_of(name: str) -> str:
    return SHOWN_BY_OPTION.get(name, name)


def options_of(verb: str) -> dict[str, tuple[type, bool, bool]]:
    """Of each option that is the verb's own: the type of its value, whether it may be repeated,
    and whether it may be left out."""
    (callback,) = (item.callback for item in APP.registered_commands if item.name == verb)
    assert callback is not None
    hints = get_type_hints(callback)
    given = inspect.signature(callback).parameters
    assert given.keys() >= OF_EVERY_VERB
    own = given.keys() - OF_EVERY_VERB - OF_THE_TERMINAL.get(verb, set())
    nothing = inspect.Parameter.empty
    return {name: (*value_of(hints[name]), given[name].default is not nothing) for name in own}


def value_of(hint: Any) -> tuple[type, bool]:
    """`int | None` is an int, `list[str] | None` is a str that may be repeated."""
    kind = hint if get_origin(hint) is not UnionType else get_args(hint)[0]
    return (get_args(kind)[0], True) if get_origin(kind) is list else (kind, False)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_name_leads_to_the_record_of_that_name(name: str) -> None:
    assert ANSWERS[name].name == name


@pytest.mark.parametrize("name", ANSWERS)
def test_a_fact_is_asked_with_the_parameters_of_its_record(name: str) -> None:
    record = ANSWERS[name]
    signature = inspect.signature(record.ask)
    table, progress, *named = signature.parameters.values()
    assert {table.kind, progress.kind} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    expected = {item.name: item.is_required for item in record.parameters}
    if not record.asks_limit:
        expected.pop("limit", None)
    assert {item.name: item.default is item.empty for item in named} == expected


def test_every_verb_that_looks_at_a_table_shows_a_fact_and_every_fact_has_a_verb() -> None:
    assert {verb_of(name) for name in ANSWERS} == set(LOOKING)


@pytest.mark.parametrize("verb", LOOKING)
def test_a_verb_takes_the_parameters_of_its_facts(verb: str) -> None:
    facts = [record for name, record in ANSWERS.items() if verb_of(name) == verb]
    needed = set.intersection(
        *({item.name for item in fact.parameters if item.is_required} for fact in facts)
    )
    assert options_of(verb) == {
        item.name: (KINDS[item.kind], item.repeats, item.name not in needed)
        for fact in facts
        for item in fact.parameters
    }


@pytest.mark.parametrize("name", [name for name in ANSWERS if ANSWERS[name].reads == "log"])
def test_what_an_address_leaves_out_is_what_the_command_line_leaves_out(name: str) -> None:
    (callback,) = (item.callback for item in APP.registered_commands if item.name == verb_of(name))
    assert callback is not None
    of_the_verb = inspect.signature(callback).parameters
    for item in inspect.signature(ANSWERS[name].ask).parameters.values():
        default = of_the_verb[item.name].default if item.name in of_the_verb else None
        if default is not None and item.default is not item.empty:
            assert default == item.default, item.name


@pytest.mark.parametrize("name", [name for name in ANSWERS if ANSWERS[name].reads == "log"])
def test_an_option_is_called_like_the_parameter_of_the_address(name: str) -> None:
    options = {item.name: item for item in COMMANDS[verb_of(name)].params}
    for parameter in ANSWERS[name].parameters:
        option = options[parameter.name]
        if option.param_type_name == "option":
            assert f"--{parameter.name.replace('_', '-')}" in option.opts


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("files", {"version": 1, "timestamp": "2026-01-01T00:00:00Z"}),
        ("conflicts", {"read_version": 0, "operation": "merge"}),
        ("diff", {"older": 0, "newer": 1, "layer": ["colours"]}),
        ("layout", {"target": "large"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_table_can_answer_is_refused_before_one_is_opened(
    name: str, given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgumentError):
        ANSWERS[name].question(given)


@pytest.mark.parametrize("name", ANSWERS)
def test_what_the_log_alone_answers_can_be_asked_without_what_reads_files(name: str) -> None:
    record = ANSWERS[name]
    beyond = {item.name for item in record.parameters if item.reads == "files"}
    assert record.reads == "log" or not beyond, "the record says it already"
    assert not beyond & {item.name for item in record.parameters if item.is_required}


def test_names_and_verbs_load_no_record_and_no_arrow() -> None:
    program = """
import sys
from explorer.answers.registry import ANSWERS
from explorer.cli.verbs import build_app
build_app()
assert len(list(ANSWERS)) == len(ANSWERS) > 20
print(*sorted({"numpy", "pyarrow", "pyspark"} & {*sys.modules}))
print(*sorted(name for name in sys.modules if name.startswith("explorer.inspect.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy, ours = done.stdout.splitlines()
    assert heavy == ""
    assert ours.split() == ["explorer.inspect.answer", "explorer.inspect.frame_rows"]
