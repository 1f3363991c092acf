"""`inspect` for people: what is wrong first, then the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

from explorer.cli.printing.terminal import is_looked_at
from explorer.cli.printing.wording import UNKNOWN, printable, render_count, render_size, render_time
from explorer.table.counts import count

_MAX_PROPERTIES = 12
_MAX_RULES = 12
_NAME_LIMIT = 120
_PROBLEM_LIMIT = 2000

INDENT = "  "
"""Before what belongs to the line above."""

Document = Mapping[str, Any]

Spans = list[tuple[str, str]]
"""A line: texts, each with its style, in the words of Rich."""


def list_description(stream: TextIO, document: Document) -> None:
    """The document of `explorer.inspect.describe`, with colours where somebody looks."""
    title, problems = _title(document), list(_problems(document["problems"]))
    facts = list(_facts(document))
    if is_looked_at(stream):
        # it takes longer to import than a small table to describe, and a pipe shows no colours
        from explorer.cli.printing.consoles import build_console  # noqa: PLC0415
        from explorer.cli.printing.listings import print_facts  # noqa: PLC0415

        print_facts(build_console(stream), [title, *problems], facts)
        return
    width = max(len(label) for label, _ in facts)
    stream.writelines(plain(line).rstrip() + "\n" for line in (title, *problems))
    stream.writelines(f"{label:<{width}}  {plain(value)}".rstrip() + "\n" for label, value in facts)


def plain(spans: Spans) -> str:
    """The text alone."""
    return "".join(text for text, _ in spans)


def _problems(problems: Sequence[Document]) -> Iterator[Spans]:
    """Each problem with its place, its reason and its remedy."""
    for problem in problems:
        place = f" ({problem['place']})" if problem.get("place") else ""
        text = printable(problem["problem"] + place, _PROBLEM_LIMIT)
        yield [("! ", "bold yellow"), (text, "yellow")]
        for key in ("reason", "remedy"):
            yield [(INDENT, ""), (printable(problem[key], _PROBLEM_LIMIT), "dim")]


def _title(document: Document) -> Spans:
    name = document["metadata"].get("name") if document["metadata"] else None
    uri = (_safe(document["uri"]), "dim" if name else "bold")
    return [(_safe(name), "bold"), ("  ", ""), uri] if name else [uri]


def _facts(document: Document) -> Iterator[tuple[str, Spans]]:
    version = render_count(document["version"])
    if (newer := document["unreadable_version"]) is not None:
        version += f", the newest that can be read; the log names version {render_count(newer)}"
    behind = "   published; the catalog may have newer versions"
    time = _time(document["timestamp"])
    yield "version", _span(f"{version}   {time}{behind if document['may_be_behind'] else ''}")
    yield "protocol", _span(_protocol(document["protocol"]))
    yield "features", _features(document["features"])
    if document["metadata"]:
        partitions = document["metadata"]["partition_columns"]
        yield (
            "partitioned by",
            _span(", ".join(map(_safe, partitions)) if partitions else "nothing"),
        )
    yield "files", _span(_files(document))
    yield "rows", _span(_rows(document))
    yield "tombstones", _span(render_count(document["num_tombstones"]))
    yield "checkpoint", _span(_checkpoint(document))
    yield from _rules(document.get("rules") or ())
    if document["metadata"]:
        yield from _properties(document["metadata"]["configuration"])


def _protocol(protocol: Document | None) -> str:
    if not protocol:
        return UNKNOWN
    return f"reader {protocol['min_reader_version']}, writer {protocol['min_writer_version']}"


def _features(features: Mapping[str, Document]) -> Spans:
    spans: Spans = []
    for name in sorted(features):
        if not features[name]["supported"]:
            continue
        spans.append((", " if spans else "", ""))
        if features[name]["active"]:
            spans.append((f"{_safe(name)} (active)", "green"))
        else:
            spans.append((_safe(name), ""))
    return spans or [("none", "")]


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


def _properties(configuration: Mapping[str, str]) -> Iterator[tuple[str, Spans]]:
    label = "properties"
    for key in sorted(configuration)[:_MAX_PROPERTIES]:
        yield label, _span(f"{_safe(key)} = {_safe(configuration[key])}")
        label = ""
    if len(configuration) > _MAX_PROPERTIES:
        yield "", _span(f"and {len(configuration) - _MAX_PROPERTIES} more (--json shows them)")


def _rules(rules: Sequence[Document]) -> Iterator[tuple[str, Spans]]:
    label = "write rules"
    for rule in rules[:_MAX_RULES]:
        parts = (rule["rule"], rule["name"], rule["column"], rule["text"])
        text = ": ".join(_safe(part) for part in parts if part)
        mark = rule["high_water_mark"]
        if mark is not None and rule["start"] is None:
            text += f" (highest id {render_count(mark)})"
        if not rule["binds"]:
            text += " (has no effect: the protocol does not support it)"
        yield label, _span(text)
        label = ""
    if len(rules) > _MAX_RULES:
        yield "", _span(f"and {len(rules) - _MAX_RULES} more (--json shows them)")


def _time(timestamp: str | None) -> str:
    if timestamp is None:
        return "at an unknown time"
    return render_time(datetime.fromisoformat(timestamp))


def _span(text: str) -> Spans:
    return [(text, "")]


def _safe(text: str) -> str:
    return printable(text, _NAME_LIMIT)
