"""What `--help` prints: the verbs in groups, and of each verb what it takes.

A verb's docstring is its help. The first paragraph is one line, which the list of verbs shows;
what follows is shown for the verb alone, an example last.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

Group = Literal[
    "Look at a table",
    "Versions and changes",
    "Files and queries",
    "Change a table",
    "Plans and receipts",
    "Page and installation",
    "Other verbs",
]

_GROUPS: Final[dict[Group, str]] = {
    "Look at a table": "",
    "Versions and changes": "",
    "Files and queries": "",
    "Change a table": " (each verb only plans, until you --apply its plan)",
    "Plans and receipts": "",
    "Page and installation": "",
    "Other verbs": "",
}
"""In their order, and what stands behind their names."""

_EXAMPLE: Final = "\n\nExample: "
_Rows = list[tuple[str, str]]


def add_verb(app: typer.Typer, name: str, group: Group, verb: Callable[..., None]) -> None:
    """Register a verb, so that its help is one of these."""
    app.command(name, cls=VerbPage, rich_help_panel=group, options_metavar="[OPTIONS]")(verb)


def group_of(command: Any) -> Group:
    """The group of a registered verb; one that a plugin registers by itself is in the last."""
    group = command.rich_help_panel
    return group if group in _GROUPS else "Other verbs"


def first_line_of(command: Any) -> str:
    """The first paragraph of a verb's help."""
    return inspect.cleandoc(command.help or "").partition("\n\n")[0].replace("\n", " ")


def usage_of(parameter: Any) -> str:
    """An argument as the usage names it, in brackets where it may be left out."""
    name = str(parameter.metavar or parameter.name.upper())
    return name if parameter.required else f"[{name}]"


def spell_option(parameter: Any) -> str:
    """`-n, --limit N`; a flag takes no value, and may have an opposite (`--open / --no-open`)."""
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.is_flag:
        return " / ".join([names, *parameter.secondary_opts])
    return f"{names} {parameter.metavar or parameter.name.upper()}"


class VerbList(TyperGroup):
    """The command without a verb."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The verbs, then the options."""
        self.format_commands(ctx, formatter)
        _write(formatter, "Options", _option_rows(self.get_params(ctx)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A line for each verb, by groups."""
        verbs = [self.commands[name] for name in self.list_commands(ctx)]
        shown = [verb for verb in verbs if not verb.hidden]
        width = max(len(verb.name or "") for verb in shown)
        for group, remark in _GROUPS.items():
            _write(
                formatter,
                f"{group}{remark}",
                [
                    (f"{verb.name:{width}}", first_line_of(verb))
                    for verb in shown
                    if group_of(verb) == group
                ],
            )


class VerbPage(TyperCommand):
    """One verb."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments in their order, then that there are options."""
        return [*map(usage_of, _arguments(self.get_params(ctx))), "[OPTIONS]"]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # typer calls it
        """The docstring; its example stays on one line, to be copied."""
        text, _, example = inspect.cleandoc(self.help or "").partition(_EXAMPLE)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
        if example:
            formatter.write(f"\nExample:\n  {example.strip()}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments and the options."""
        params: list[Any] = self.get_params(ctx)
        rows = [(usage_of(found), found.help or "") for found in _arguments(params)]
        _write(formatter, "Arguments", rows)
        options = [found for found in params if found not in _arguments(params)]
        panels = dict.fromkeys(found.rich_help_panel or "Options" for found in options)
        for panel in sorted(panels, key=lambda panel: panel != "Options"):
            inside = [found for found in options if (found.rich_help_panel or "Options") == panel]
            _write(formatter, panel, _option_rows(inside))


def _arguments(params: Iterable[Any]) -> list[Any]:
    return [found for found in params if isinstance(found, TyperArgument)]


def _option_rows(options: Iterable[Any]) -> _Rows:
    return [(spell_option(found), _explain(found)) for found in options if not found.hidden]


def _explain(option: Any) -> str:
    """Its help, and what holds without it."""
    says = option.help or ""
    if option.required:
        return f"{says} (required)"
    if option.is_flag or option.default in (None, ""):
        return says
    return f"{says} (default: {option.default})"


def _write(formatter: Any, title: str, rows: _Rows) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)
