"""The entry point `delta-explorer`: reads the arguments, runs the verb, ends well."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import typer
from typer.main import get_command

from explorer.cli.plugins import register_plugin_verbs
from explorer.cli.printing.failures import (
    EXIT_CANCELLED,
    EXIT_PROBLEM,
    EXIT_USAGE,
    Report,
    describe_bug,
    describe_cancelled,
    describe_out_of_memory,
    describe_usage,
    exit_code_of,
    report_as_json,
    report_as_text,
)
from explorer.cli.printing.terminal import escape_unencodable_output, ignore_closed_pipe
from explorer.cli.verbs import build_app
from explorer.errors import DeltaError

_PROGRAM = "delta-explorer"
_INTERRUPTED = 130
"""What typer answers for an interrupt that it caught itself."""


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    escape_unencodable_output()
    code = run(sys.argv[1:])
    with ignore_closed_pipe():
        sys.stdout.flush()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code of the contract."""
    report = report_as_json if _wants_json(arguments) else report_as_text
    try:
        return _run_verb(arguments, report)
    except KeyboardInterrupt:
        report(describe_cancelled())
        return EXIT_CANCELLED
    except MemoryError:
        report(describe_out_of_memory())
        return EXIT_PROBLEM
    except UnicodeEncodeError as error:
        odd = any("\ud800" <= letter <= "\udfff" for text in arguments for letter in text)
        report(describe_usage("An argument is not UTF-8 text.") if odd else describe_bug(error))
        return EXIT_USAGE if odd else EXIT_PROBLEM
    except Exception as error:  # noqa: BLE001 - the outermost place: a bug must not end in a traceback
        report(describe_bug(error))
        return EXIT_PROBLEM


def _run_verb(arguments: Sequence[str], report: Report) -> int:
    try:
        app = _kept_app(build_app)
        if _needs_plugins(app, arguments):
            app = build_app()
            register_plugin_verbs(app)
        code = _command_of(app).main(list(arguments), prog_name=_PROGRAM, standalone_mode=False)
    except DeltaError as error:
        report(error.as_dict())
        return exit_code_of(error)
    except typer.TyperException as usage:
        report(describe_usage(usage.format_message()))
        return usage.exit_code
    except typer.Abort:
        report(describe_cancelled())
        return EXIT_CANCELLED
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


@cache
def _kept_app(build: Callable[[], typer.Typer]) -> typer.Typer:
    """Our own verbs, which are the same for every line that a process runs."""
    return build()


@cache
def _command_of(app: typer.Typer) -> Any:
    """What parses a line. To make it of the annotations of some forty verbs takes longer than to
    answer most lines."""
    return get_command(app)


def _wants_json(arguments: Sequence[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _needs_plugins(app: typer.Typer, arguments: Sequence[str]) -> bool:
    """Whether the verb is not one of ours, or the list of verbs is asked for."""
    built_in = {command.name for command in app.registered_commands}
    verb = next((word for word in arguments if not word.startswith("-")), None)
    return verb not in built_in
