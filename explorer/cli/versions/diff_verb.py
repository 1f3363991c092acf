"""`diff`: what differs between two versions, layer by layer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from explorer.answers.registry import ANSWERS
from explorer.cli.answering import answer, open_named
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, print_cut, print_listing, print_note
from explorer.cli.printing.row_listing import list_rows
from explorer.cli.printing.wording import (
    UNKNOWN,
    printable,
    render_count,
    render_partition,
    render_size,
    render_size_change,
    render_wide_bounds,
    with_times,
)
from explorer.errors import InvalidArgumentError
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.inspect.rows.row_differences import RowDifferences

_SCREENFUL = 20

Older = Annotated[int, typer.Argument(metavar="OLDER", help="The version to start from.")]
Newer = Annotated[
    int,
    typer.Argument(
        metavar="NEWER",
        help="The version to compare with; an older one shows what RESTORE would do.",
    ),
]
Layers = Annotated[
    list[str] | None,
    typer.Option(
        "--layer",
        metavar="LAYER",
        help="Only this layer: files, rows, schema, properties, protocol, or statistics (not "
        "shown by default, since all of them are read); may be repeated.",
    ),
]

Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="URI",
        help="NEWER is a version of this other table, such as a copy of the first.",
    ),
]
ChangedRows = Annotated[
    bool,
    typer.Option(
        "--changed-rows",
        help="Instead, the rows that differ, by reading the files that differ (64 MiB at most).",
    ),
]
Key = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        metavar="NAME",
        help="With --changed-rows: a column by which the same row is known. Repeatable.",
    ),
]


def diff(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    older: Older,
    newer: Newer,
    *,
    layer: Layers = None,
    against: Against = None,
    changed_rows: ChangedRows = False,
    key: Key = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """What differs between two versions or tables, layer by layer.

    The layers are files, rows, statistics, schema, properties and protocol.

    Example: delta-explorer diff ./orders 12 15 --layer schema
    """
    _check_options(layer, key, shows_rows=changed_rows)
    other = None if against is None else open_named((against, option))
    given = {"older": older, "newer": newer, "against": other, "limit": limit}
    if changed_rows:
        answer(
            "row_differences",
            (uri, option),
            {**given, "key": key or None},
            _print_changed_rows,
            as_json=as_json,
            screenful=_SCREENFUL,
        )
        return
    answer(
        "diff",
        (uri, option),
        {**given, "layer": layer},
        lambda found, most: _print(ANSWERS["diff"].document(found, most)),
        as_json=as_json,
        screenful=_SCREENFUL,
    )


def _check_options(layer: list[str] | None, key: list[str] | None, *, shows_rows: bool) -> None:
    name, given = ("--layer", layer) if shows_rows else ("--key", key)
    if given:
        raise InvalidArgumentError(
            f"{name} is given {'with' if shows_rows else 'without'} --changed-rows.",
            reason="Layers are compared by the log, rows by their key.",
            remedy=f"Leave out {name}.",
        )


def _print_changed_rows(found: RowDifferences, limit: int | None) -> None:
    console = build_console(sys.stdout)
    console.print(Text(_safe(found.sentence), style="bold"))
    kinds = (
        ("inserted", found.inserted),
        ("deleted", found.deleted),
        ("before", found.before),
        ("after", found.after),
    )
    for kind, rows in kinds:
        if rows.num_rows:
            console.print(Text(kind, style="bold"))
            shown = rows if limit is None else rows.slice(0, limit)
            hidden = list_rows(console, shown)
            print_cut(console, shown.num_rows, rows.num_rows, f"{kind} rows")
            if hidden:
                print_note(console, f"{count(hidden, 'more column')}; --json shows all")


def _print(document: Mapping[str, Any]) -> None:
    console = build_console(sys.stdout)
    older, newer = document["older"], document["newer"]
    title = f"version {older['version']} to {newer['version']}"
    places = dict.fromkeys(_safe(side["uri"]) for side in (older, newer))
    console.print(Text.assemble((title, "bold"), "  ", (" and ".join(places), "dim")))
    for note in document["notes"]:
        print_note(console, f"! {note}")
    for name, print_layer in _PRINTED.items():
        if name in document:
            console.print(Text(name, style="bold"))
            print_layer(console, document[name])


def _print_files(console: Console, files: Mapping[str, Any]) -> None:
    kinds = ("added", "removed", "changed")
    counts = ", ".join(f"{files[f'num_{kind}']:,} {kind}" for kind in kinds)
    size = render_size_change(files["bytes_added"], files["bytes_removed"])
    console.print(Text(f"{counts}   {size}".rstrip()))
    rows = [{"kind": kind, **row} for kind in kinds for row in files[kind]]
    if rows:
        print_listing(console, _FILES, rows)
    for kind in kinds:
        print_cut(console, len(files[kind]), files[f"num_{kind}"], f"{kind} files")


def _print_rows(console: Console, rows: Mapping[str, Any]) -> None:
    words = {
        "added": "in added files",
        "removed": "in removed files",
        "hidden": "newly soft-deleted",
        "restored": "no longer soft-deleted",
        "recounted": "by other row counts of the same files",
    }
    net = rows["net"]
    console.print(Text("unknown" if net is None else f"{net:+,} in total"))
    for name, text in words.items():
        if rows[name] != 0:
            print_note(console, f"{render_count(rows[name])} {text}")


def _print_statistics(console: Console, rows: list[Row]) -> None:
    bounds = [f"{fact}_{side}" for fact in ("minimum", "maximum") for side in ("before", "after")]
    told = [with_times(row, row["type_after"] or row["type_before"], bounds) for row in rows]
    _print_rows_or_same(console, _STATISTICS, told, "no column has statistics")
    for side in ("before", "after"):
        most = max(rows, key=lambda row: row[f"wide_{side}"] or 0, default=None)
        if most is not None and most[f"wide_{side}"]:
            said = render_wide_bounds(most[f"wide_{side}"], most[f"files_{side}"])
            print_note(console, f"{side}: {said}")


def _print_schema(console: Console, rows: list[Row]) -> None:
    _print_rows_or_same(console, _SCHEMA, rows, "no changes")
    for text in dict.fromkeys(row["meaning"] for row in rows if row["meaning"]):
        kinds = dict.fromkeys(row["kind"] for row in rows if row["meaning"] == text)
        print_note(console, f"{', '.join(kinds)}: {text}")


def _print_properties(console: Console, rows: list[Row]) -> None:
    _print_rows_or_same(console, _SETTINGS, rows, "no changes")


def _print_protocol(console: Console, protocol: Mapping[str, Any]) -> None:
    rows = []
    for side in ("reader", "writer"):
        before, after = protocol[f"{side}_before"], protocol[f"{side}_after"]
        if before != after:
            rows.append({"name": f"{side} version", "before": str(before), "after": str(after)})
    features = (
        ("added", "not supported", "supported"),
        ("removed", "supported", "not supported"),
        ("activated", "not active", "active"),
        ("deactivated", "active", "not active"),
    )
    for key, before, after in features:
        rows.extend({"name": name, "before": before, "after": after} for name in protocol[key])
    _print_rows_or_same(console, _SETTINGS, rows, "no changes")


def _print_rows_or_same(
    console: Console, columns: Sequence[Column], rows: Sequence[Row], nothing: str
) -> None:
    if rows:
        print_listing(console, columns, rows)
    else:
        print_note(console, nothing)


_PRINTED: Mapping[str, Callable[[Console, Any], None]] = {
    "files": _print_files,
    "rows": _print_rows,
    "statistics": _print_statistics,
    "schema": _print_schema,
    "properties": _print_properties,
    "protocol": _print_protocol,
}


def _safe(text: str) -> str:
    return printable(text, 200)


def _sign(row: Row) -> str:
    return {"added": "+", "removed": "-", "changed": "~"}[row["kind"]]


def _colour(row: Row) -> str:
    return {"added": "green", "removed": "red"}.get(row["kind"], "yellow")


def _either(row: Row, name: str) -> Any:
    return row[name] if name in row else row[f"{name}_after"]


def _hidden(row: Row) -> str:
    if row["kind"] == "changed":
        before, after = row["cardinality_before"], row["cardinality_after"]
        return _arrow(render_count(before), render_count(after)) if before != after else ""
    vector = row["deletion_vector"]
    return "" if vector is None else render_count(vector["cardinality"])


def _arrow(before: str | None, after: str | None) -> str:
    return f"{'-' if before is None else before} -> {'-' if after is None else after}"


def _sides(row: Row, fact: str) -> str:
    before, after = (
        None if row[f"{fact}_{side}"] is None else str(row[f"{fact}_{side}"])
        for side in ("before", "after")
    )
    return (before or UNKNOWN) if before == after else _arrow(before, after)


def _null_counts(row: Row) -> str:
    from explorer.inspect.files.statistics import null_count_in_words  # noqa: PLC0415

    before, after = (
        null_count_in_words(*(row[f"{fact}_{side}"] for fact in ("null_count", "counted", "files")))
        for side in ("before", "after")
    )
    return (before or UNKNOWN) if before == after else _arrow(before, after)


def _coverage(row: Row) -> str:
    before, after = (
        None if row[f"files_{side}"] is None else f"{row[f'bounded_{side}']}/{row[f'files_{side}']}"
        for side in ("before", "after")
    )
    return (before or UNKNOWN) if before == after else _arrow(before, after)


def _path(row: Row) -> str:
    before = row["path_before"]
    moved = before is not None and before != row["path"]
    return f"{row['path']} (was {before})" if moved else str(row["path"])


_FILES = (
    Column(title="", render=_sign, style=_colour),
    Column(title="path", render=lambda row: row["path"], style=_colour, shrinks=True),
    Column(title="size", render=lambda row: render_size(_either(row, "size")), align="right"),
    Column(
        title="rows", render=lambda row: render_count(_either(row, "num_records")), align="right"
    ),
    Column(title="deleted", render=_hidden, align="right"),
    Column(title="change", render=lambda row: ", ".join(row.get("changes", ())), shrinks=True),
    Column(
        title="partition",
        render=lambda row: render_partition(row["partition_values"]),
        shrinks=True,
    ),
)
_SCHEMA = (
    Column(title="change", render=lambda row: row["kind"], style=lambda _: "bold"),
    Column(title="column", render=_path, shrinks=True),
    Column(title="before", render=lambda row: row["before"] or "", shrinks=True),
    Column(title="after", render=lambda row: row["after"] or "", shrinks=True),
    Column(title="id", render=lambda row: str(row["field_id"] or ""), align="right"),
)
_SETTINGS = (
    Column(title="kind", render=lambda row: row.get("kind", ""), style=lambda _: "dim"),
    Column(title="name", render=lambda row: row["name"], shrinks=True),
    Column(title="before", render=lambda row: row["before"] or "", shrinks=True),
    Column(title="after", render=lambda row: row["after"] or "", shrinks=True),
)
_STATISTICS = (
    Column(title="column", render=lambda row: row["path"], shrinks=True),
    Column(title="coverage", render=_coverage),
    Column(title="min", render=lambda row: _sides(row, "minimum"), shrinks=True),
    Column(title="max", render=lambda row: _sides(row, "maximum"), shrinks=True),
    Column(title="null count", render=_null_counts, align="right"),
)
