"""How the command line ends when something goes wrong: one clear message on
standard error, as text or as JSON, and an exit code; never a traceback."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from explorer.answers.json_lines import render_json
from explorer.cli.printing.wording import printable
from explorer.errors import DeltaError, ErrorKind

EXIT_PROBLEM = 1
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_PARTLY = 4
EXIT_CANCELLED = 5

_CODES: dict[ErrorKind, int] = {
    "cancelled": EXIT_CANCELLED,
    "commit_conflict": EXIT_REFUSED,
    "invalid_argument": EXIT_USAGE,
    "plan_refused": EXIT_REFUSED,
    "plan_stale": EXIT_REFUSED,
}

Fields = Mapping[str, str | None]
"""kind, problem, reason, remedy and spec, as `DeltaError.as_dict` gives them."""

Report = Callable[[Fields], None]


def exit_code_of(error: DeltaError) -> int:
    """1 for a table's problem, 2 for usage, 3 for a stale request, 5 for cancelled."""
    return _CODES.get(error.kind, EXIT_PROBLEM)


def report_as_json(fields: Fields) -> None:
    """`{"error": {...}}` on standard error, in one line."""
    sys.stderr.write(render_json({"error": dict(fields)}) + "\n")


def report_as_text(fields: Fields) -> None:
    """Problem, reason and remedy on standard error, a line each."""
    # most lines end without an error
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from explorer.cli.printing.consoles import build_console  # noqa: PLC0415

    console = build_console(sys.stderr)
    console.print(Text.assemble(("error: ", "bold red"), _line(fields["problem"])))
    for label, key in (("why", "reason"), ("what to do", "remedy"), ("specification", "spec")):
        if fields.get(key):
            text = Text.assemble((f"{label}: ", "bold"), _line(fields[key]))
            console.print(Padding(text, (0, 0, 0, 2), expand=False))


def _line(text: str | None) -> str:
    return printable(text or "", limit=2000)


_NOT_WHOLE = re.compile(r"is not a valid int(eger)?( range)?\b")
"""What the parser of arguments says of a text where a whole number is asked for."""


def describe_usage(message: str) -> Fields:
    """The fields of an error in how the command was called."""
    return {
        "kind": "invalid_argument",
        "problem": _NOT_WHOLE.sub("is not a whole number", message),
        "reason": "The command was not called as its help says.",
        "remedy": "Run delta-explorer --help, or delta-explorer VERB --help.",
        "spec": None,
    }


def describe_cancelled() -> Fields:
    """The fields for work that a person stopped."""
    return {
        "kind": "cancelled",
        "problem": "Cancelled.",
        "reason": "The command was interrupted.",
        "remedy": "Run it again if you still need it.",
        "spec": None,
    }


def describe_out_of_memory() -> Fields:
    """The fields for a question that needs more memory than there is."""
    return {
        "kind": "limit_exceeded",
        "problem": "There is not enough memory.",
        "reason": "The table's log holds more than this process may keep in memory.",
        "remedy": "Ask for less (--limit), or run this on a machine with more memory.",
        "spec": None,
    }


def describe_bug(error: Exception) -> Fields:
    """The fields for an exception that should not have come this far.

    Its message is left out: only our own errors are known to hold no secret.
    """
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return {
        "kind": "internal_error",
        "problem": "This is a bug in delta-explorer.",
        "reason": f"{type(error).__name__} at {places}.",
        "remedy": "Please report it with this line and, if you can, the table's _delta_log.",
        "spec": None,
    }
