"""The same answer elsewhere: as Python, as SQL, and on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from widgets.components.pieces import render_snippet


def render_ways(identity: str, ways: Mapping[str, str]) -> str:
    """Snippets by their labels, folded; `identity` tells those of one view apart."""
    snippets = "".join(
        render_snippet(f"dx-{identity}-{at}", text, label)
        for at, (label, text) in enumerate(ways.items())
    )
    names = ", ".join(ways)
    return f"<details><summary>The same as {names}</summary><div>{snippets}</div></details>"


def python_line(uri: str, call: str) -> str:
    """Python that opens the table as `table` and evaluates `call`."""
    return f"import explorer\ntable = explorer.open_table({uri!r})\n{call}"


def command_line(verb: str, uri: str, arguments: Sequence[str] = ()) -> str:
    """A line for the shell."""
    return shlex.join(["delta-explorer", verb, uri, *arguments])


def sql_name(uri: str) -> str:
    """The table by its place, in Spark SQL."""
    return f"delta.`{uri.replace('`', '``')}`"
