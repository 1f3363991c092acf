"""The same answer elsewhere: as Python, as SQL, and on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from widgets.markup import Markup, html, join
from widgets.text import shell_word
from widgets.ui.pieces import render_snippet


def render_copy_as(identity: str, commands: Mapping[str, str]) -> Markup:
    """Snippets by their labels, folded; `identity` tells those of one view apart."""
    snippets = join(
        render_snippet(f"dx-{identity}-{at}", text, label)
        for at, (label, text) in enumerate(commands.items())
    )
    names = " · ".join(commands)
    return html("<details><summary>Copy as: {}</summary><div>{}</div></details>", names, snippets)


def python_line(uri: str, call: str) -> str:
    """Python that opens the table as `table` and evaluates `call`."""
    return f"import explorer\ntable = explorer.open_table({uri!r})\n{call}"


def command_line(verb: str, uri: str, arguments: Sequence[str] = ()) -> str:
    """A line for the shell."""
    return " ".join(map(shell_word, ["delta-explorer", verb, uri, *arguments]))


def sql_name(uri: str) -> str:
    """The table by its place, in Spark SQL."""
    return f"delta.`{uri.replace('`', '``')}`"


_LOOK = "import explorer.inspect as look\n"


def view_commands(view: str, uri: str, version: int) -> dict[str, str]:
    """What a view shows, elsewhere; of a view with more to say, the version that it shows."""
    if view == "commit":
        return {
            "CLI": command_line("actions", uri, [str(version)]),
            "Python": python_line(uri, _LOOK + f"look.commit_rows(table, {version}).rows"),
        }
    known = _WAYS.get(view)
    if known is None:
        return {
            "CLI": command_line("inspect", uri, ["--version", str(version)]),
            "Python": python_line(uri, f"table.snapshot(version={version})"),
            "Spark SQL": f"SELECT * FROM {sql_name(uri)} VERSION AS OF {version}",
        }
    verb, takes_version, call, sql = known
    arguments = ["--version", str(version)] if takes_version else []
    commands = {
        "CLI": command_line(verb, uri, arguments),
        "Python": python_line(uri, _LOOK + call.format(version=version)),
    }
    return commands | ({"Spark SQL": sql.format(table=sql_name(uri))} if sql else {})


_AT = "table.snapshot(version={version})"
_WAYS = {
    "timeline": ("history", False, "look.timeline(table)", "DESCRIBE HISTORY {table}"),
    "files": ("files", True, f"look.files_page({_AT}, offset=0, limit=1000).rows", ""),
    "protocol": ("features", True, "look.features(table, {version})", "DESCRIBE DETAIL {table}"),
    "engines": ("engines", True, "look.engines(table, {version})", ""),
    "log": ("log", False, "look.log_files(table)", ""),
}
"""For views whose cards have no commands of their own: the verb, whether it takes a version, the
call, and Spark SQL where it can say the same."""
