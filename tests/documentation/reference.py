"""The reference pages, made from the code: each verb, and each name of the front doors."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from typer.main import get_command

from explorer.cli.help_pages import group_of, spell_option, usage_of
from explorer.cli.plugins import register_plugin_verbs
from explorer.cli.verbs import build_app

DOORS = {
    "explorer": "Opening and reading tables.",
    "explorer.inspect": "One function for each fact that the explorer shows.",
    "explorer.maintenance": "Plans, approvals, receipts.",
    "explorer.pipeline": "Bulk work on rows, on Spark.",
    "widgets": "The notebook view and the served page.",
}


def render_commands() -> str:
    """The command line: usage, what it does, arguments and options of every verb."""
    app = build_app()
    register_plugin_verbs(app)
    group: Any = get_command(app)
    parts = [
        "# The command line\n",
        (
            "`delta-explorer VERB URI [options]`. `--json` prints one JSON document, or one per "
            "line for lists, and nothing else on standard output. Nothing changes a table without "
            "`--apply`.\n"
        ),
        (
            "| Exit code | Meaning |\n|--:|---|\n"
            "| 0 | done, also where there was nothing to do |\n"
            "| 1 | a problem of the table or the plan; on standard error, with `--json` as "
            '`{"error": {…}}`; or a finding as grave as `health --fail-on` says |\n'
            "| 2 | wrong usage |\n| 3 | refused by a guard, or the plan is stale |\n"
            "| 4 | partly done: see the receipt |\n| 5 | cancelled |\n"
        ),
        (
            "Completion of verbs and options for bash, zsh, fish and PowerShell: "
            "`delta-explorer --install-completion`.\n"
        ),
    ]
    for title in dict.fromkeys(map(group_of, group.commands.values())):
        parts.append(f"## {title}\n")
        parts += [
            _render_verb(name, verb)
            for name, verb in group.commands.items()
            if group_of(verb) == title
        ]
    return "\n".join(parts)


def _render_verb(name: str, command: Any) -> str:
    text, example = _split_example(inspect.cleandoc(command.help or ""))
    arguments = [p for p in command.params if not p.opts[0].startswith("-")]
    options = [p for p in command.params if p.opts[0].startswith("-")]
    usage = " ".join(usage_of(p) for p in arguments)
    lines = [f"### {name}\n", f"{_plain(text)}\n"]
    lines += [f"    {line}" for line in [f"delta-explorer {name} {usage} [options]", *example]]
    lines += ["", "| | |", "|---|---|"]
    lines += [f"| `{_escaped(usage_of(p))}` | {_cell(p)} |" for p in arguments]
    lines += [f"| `{spell_option(p)}` | {_cell(p)} |" for p in options if p.name != "help"]
    return "\n".join([*lines, ""])


def _split_example(text: str) -> tuple[str, list[str]]:
    """The prose of a help, and its examples."""
    before, _, after = text.partition("\n\nExample")
    found = re.findall(r"delta-explorer .+", after)
    return before, [line.strip() for line in found]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _cell(parameter: Any) -> str:
    return _escaped(_plain(parameter.help or "")).replace("\n", " ")


def _plain(text: str) -> str:
    """A help text as Markdown: what looks like an element is none."""
    return text.replace("<", "&lt;").replace("\b", "")


def render_door(door: str) -> str:
    """One front door: each of its names with signature and docstring."""
    module = importlib.import_module(door)
    parts = [f"# {door}\n", f"{DOORS[door]}\n"]
    parts += [_render_name(name, getattr(module, name)) for name in module.__all__]
    return "\n".join(parts)


def _render_name(name: str, value: object) -> str:
    lines = [f"## {name}\n", "```python", _signature(name, value), "```\n", _doc(value), ""]
    if inspect.isclass(value) and not issubclass(value, Exception):
        for member, found in _members(value):
            lines += [f"**`{member}`** {_first_line(found)}\n"]
    return "\n".join(lines)


def _signature(name: str, value: object) -> str:
    if not callable(value):
        return f"{name}: {type(value).__name__}"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    shown = [
        re.sub(r" = <function (\w+) at 0x[0-9a-f]+>", r" = \1", str(parameter)).replace("'", "")
        for parameter in signature.parameters.values()
    ]
    shown = _with_stars(shown, list(signature.parameters.values()))
    result = "" if signature.return_annotation is inspect.Signature.empty else _type(signature)
    short = f"{name}({', '.join(shown)}){result}"
    if len(short) <= 88:
        return short
    return f"{name}(\n    " + ",\n    ".join(shown) + f",\n){result}"


def _with_stars(shown: list[str], parameters: list[inspect.Parameter]) -> list[str]:
    kinds = [parameter.kind for parameter in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        at = kinds.index(inspect.Parameter.KEYWORD_ONLY)
        return [*shown[:at], "*", *shown[at:]]
    return shown


def _type(signature: inspect.Signature) -> str:
    said = signature.return_annotation
    return f" -> {said if isinstance(said, str) else getattr(said, '__name__', said)}"


def _doc(value: object) -> str:
    text = inspect.getdoc(value) if callable(value) else None
    return "" if text is None or text.startswith(f"{getattr(value, '__name__', '')}(") else text


def _members(value: type) -> Iterator[tuple[str, object]]:
    """The public fields, properties and methods that a class itself documents."""
    if is_dataclass(value):
        for field in fields(value):
            if not field.name.startswith("_"):
                yield f"{field.name}: {field.type}", None
    for name, found in vars(value).items():
        if name.startswith("_") or _first_line(found) == "":
            continue
        if isinstance(found, property):
            yield name, found
        elif inspect.isfunction(found):
            yield f"{name}()", found
        elif isinstance(found, classmethod):
            yield f"{name}()", found.__func__


def _first_line(value: object) -> str:
    if value is None:
        return ""
    text = inspect.getdoc(value)
    is_documented = isinstance(value, property | classmethod) or inspect.isfunction(value)
    return " ".join(text.partition("\n\n")[0].split()) if text and is_documented else ""
