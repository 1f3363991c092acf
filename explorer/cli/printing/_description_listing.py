"""`inspect` for people: what is wrong first, then the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from explorer.cli.printing.listings import print_grid
from explorer.cli.printing.wording import UNKNOWN, printable, render_count, render_size, render_time
from explorer.table.counts import count

_MAX_PROPERTIES = 12
_MAX_RULES = 12
_NAME_LIMIT = 120
_PROBLEM_LIMIT = 2000

Document = Mapping[str, Any]


def list_description(console: Console, document: Document) -> None:
    """The document of `explorer.inspect.describe` on a terminal."""
    console.print(_title(document))
    print_problems(console, document["problems"])
    grid = Grid.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in _facts(document):
        grid.add_row(Text(label), value)
    print_grid(console, grid)


def print_problems(console: Console, problems: Sequence[Document]) -> None:
    """Each problem with its place, its reason and its remedy."""
    for problem in problems:
        place = f" ({problem['place']})" if problem.get("place") else ""
        text = printable(problem["problem"] + place, _PROBLEM_LIMIT)
        console.print(Text.assemble(("! ", "bold yellow"), (text, "yellow")))
        for key in ("reason", "remedy"):
            detail = Text(printable(problem[key], _PROBLEM_LIMIT), style="dim")
            console.print(Padding(detail, (0, 0, 0, 2), expand=False))


def _title(document: Document) -> Text:
    name = document["metadata"].get("name") if document["metadata"] else None
    uri = Text(_safe(document["uri"]), style="dim" if name else "bold")
    return Text.assemble((_safe(name), "bold"), "  ", uri) if name else uri


def _facts(document: Document) -> Iterator[tuple[str, Text]]:
    version = render_count(document["version"])
    if (newer := document["unreadable_version"]) is not None:
        version += f", the newest that can be read; the log names version {render_count(newer)}"
    behind = "   published; the catalog may have newer versions"
    time = _time(document["timestamp"])
    yield "version", Text(f"{version}   {time}{behind if document['may_be_behind'] else ''}")
    yield "protocol", Text(_protocol(document["protocol"]))
    yield "features", _features(document["features"])
    if document["metadata"]:
        partitions = document["metadata"]["partition_columns"]
        yield "partitioned by", Text(", ".join(map(_safe, partitions)) if partitions else "nothing")
    yield "files", Text(_files(document))
    yield "rows", Text(_rows(document))
    yield "tombstones", Text(render_count(document["num_tombstones"]))
    yield "checkpoint", Text(_checkpoint(document))
    yield from _rules(document.get("rules") or ())
    if document["metadata"]:
        yield from _properties(document["metadata"]["configuration"])


def _protocol(protocol: Document | None) -> str:
    if not protocol:
        return UNKNOWN
    return f"reader {protocol['min_reader_version']}, writer {protocol['min_writer_version']}"


def _features(features: Mapping[str, Document]) -> Text:
    supported = [name for name in sorted(features) if features[name]["supported"]]
    text = Text()
    for name in supported:
        text.append(", " if text else "")
        text.append(_safe(name), style="green" if features[name]["active"] else "")
        text.append(" (active)" if features[name]["active"] else "", style="green")
    return text or Text("none")


def _files(document: Document) -> str:
    if document["num_files"] is None:
        return UNKNOWN
    text = f"{render_count(document['num_files'])}   {render_size(document['size_in_bytes'])}"
    sizes = document.get("file_sizes")
    if sizes and document["num_files"] > 1:
        text += (
            f"   ({render_size(sizes['smallest'])} to {render_size(sizes['largest'])}, "
            f"median {render_size(sizes['median'])})"
        )
    return text


def _rows(document: Document) -> str:
    text = render_count(document["num_rows"])
    vectors = document["num_deletion_vectors"]
    if vectors:
        deleted = render_count(document["num_deleted_rows"])
        text += f"   ({deleted} more deleted by {count(vectors, 'deletion vector')})"
    return text


def _checkpoint(document: Document) -> str:
    commits = document["commits_since_checkpoint"]
    since = f"{UNKNOWN} commits" if commits is None else count(commits, "commit")
    if compactions := document["compactions_read"]:
        since += f" ({render_count(document['commits_read'])} read one by one, "
        since += f"{count(compactions, 'log compaction')} for others)"
    checkpoint = document["checkpoint"]
    if checkpoint is None:
        return f"none, {since} in the log"
    return f"version {render_count(checkpoint['version'])} ({checkpoint['kind']}), {since} since"


def _properties(configuration: Mapping[str, str]) -> Iterator[tuple[str, Text]]:
    label = "properties"
    for key in sorted(configuration)[:_MAX_PROPERTIES]:
        yield label, Text(f"{_safe(key)} = {_safe(configuration[key])}")
        label = ""
    if len(configuration) > _MAX_PROPERTIES:
        yield "", Text(f"and {len(configuration) - _MAX_PROPERTIES} more (--json shows them)")


def _rules(rules: Sequence[Document]) -> Iterator[tuple[str, Text]]:
    label = "write rules"
    for rule in rules[:_MAX_RULES]:
        parts = (rule["rule"], rule["name"], rule["column"], rule["text"])
        text = ": ".join(_safe(part) for part in parts if part)
        mark = rule["high_water_mark"]
        if mark is not None and rule["start"] is None:
            text += f" (highest id {render_count(mark)})"
        if not rule["binds"]:
            text += " (has no effect: the protocol does not support it)"
        yield label, Text(text)
        label = ""
    if len(rules) > _MAX_RULES:
        yield "", Text(f"and {len(rules) - _MAX_RULES} more (--json shows them)")


def _time(timestamp: str | None) -> str:
    if timestamp is None:
        return "at an unknown time"
    return render_time(datetime.fromisoformat(timestamp))


def _safe(text: str) -> str:
    return printable(text, _NAME_LIMIT)
