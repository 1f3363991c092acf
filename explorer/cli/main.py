"""The entry point `delta-explorer`: reads the arguments, runs the verb, ends well."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
from typer.main import get_command

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
from explorer.cli.verbs import VERB_NAMES, build_app, build_list_app
from explorer.errors import DeltaError

_PROGRAM = "delta-explorer"
_INTERRUPTED = 130
"""What typer answers for an interrupt that it caught itself."""


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    escape_unencodable_output()
    code = run(sys.argv[1:])
    with ignore_closed_pipe():
        if sys.stdout is not None:  # it may be closed from the start
            sys.stdout.flush()
    # The process ends: to look all of it through for garbage first takes 0.1 s, and frees nothing
    # that the system does not free. Threads are joined and temporary folders removed as before.
    gc.freeze()
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
        code = _command_for(arguments).main(
            list(arguments), prog_name=_PROGRAM, standalone_mode=False
        )
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


def _command_for(arguments: Sequence[str]) -> Any:
    """What parses these arguments, as far as they need it: to declare every verb takes longer than
    to answer most lines."""
    if arguments and arguments[0] in VERB_NAMES:
        return _kept_command(arguments[0])
    # only here, because looking for plugins takes longer than to open a small table
    from explorer.cli.plugins import register_plugin_verbs  # noqa: PLC0415

    is_list = list(arguments) == ["--help"] or not (arguments or _completes())
    app = build_list_app() if is_list else build_app()
    register_plugin_verbs(app)
    return get_command(app)


@cache
def _kept_command(verb: str) -> Any:
    """What parses a line of one verb of ours, the same for every line that a process runs."""
    return get_command(build_app([verb]))


def _completes() -> bool:
    """Whether a shell asks what a line could go on with; it says so in its environment."""
    return any(name.endswith("_COMPLETE") for name in os.environ)


def _wants_json(arguments: Sequence[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options
