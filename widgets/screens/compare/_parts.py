"""Two versions beside each other: the sentence, the figures, and each layer as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from explorer.comparison.schema_changes import SchemaChange
from explorer.comparison.table_settings import ProtocolChange, SettingChange
from explorer.errors import Problem
from explorer.inspect import RowDifferences
from explorer.inspect.files.statistics import null_count_in_words
from explorer.protocol.values.utc_times import render_value_times
from widgets.screens.files.parts import render_partition
from widgets.text import (
    UNKNOWN,
    cut,
    cut_path,
    format_bytes,
    format_count,
    format_signed,
    format_signed_bytes,
)
from widgets.ui.pieces import KeyFigure
from widgets.ui.table import Cell, Column, Row

_SAME_PROTOCOL = "the same protocol"

DASH = "\N{EN DASH}"
ARROW = " \N{RIGHTWARDS ARROW} "
SIGNS = {"added": "added", "removed": "removed", "changed": "kept with changes"}
"""What became of a file, in words: data files never change, what the log says of them does."""
_TOLD = {"added": "added", "removed": "removed", "changed": "kept with another vector or entry"}
_SIGNS_OF_TABLES = {
    "added": "only in the second", "removed": "only in the first", "changed": "in both, differs",
}  # fmt: skip
_TOLD_OF_TABLES = {
    "added": "only in the second table",
    "removed": "only in the first",
    "changed": "in both with another vector or entry",
}

FILE_COLUMNS = (
    Column(key="kind", label="What"),
    Column(key="path", label="File", mono=True),
    Column(key="partition", label="Partition", mono=True, wide=True),
    Column(key="size", label="Size", align="right"),
    Column(key="rows", label="Rows", align="right"),
    Column(key="hidden", label="Soft-deleted", align="right"),
    Column(key="changes", label="Differs in", wide=True),
)
EXPORTED_FILES = {
    "kind": pa.string(),
    "path": pa.string(),
    "partition": pa.string(),
    "size_before": pa.int64(),
    "size_after": pa.int64(),
    "rows_before": pa.int64(),
    "rows_after": pa.int64(),
    "hidden_before": pa.int64(),
    "hidden_after": pa.int64(),
    "changes": pa.string(),
}
ROW_COLUMNS = (
    Column(key="what", label="By"),
    Column(key="rows", label="Rows", align="right"),
    Column(key="meaning", label="What that is", wraps=True),
)
SCHEMA_COLUMNS = (
    Column(key="kind", label="Change"),
    Column(key="path", label="Column", mono=True),
    Column(key="before", label="Before", mono=True),
    Column(key="after", label="After", mono=True),
    Column(key="id", label="Id", align="right"),
    Column(key="meaning", label="What it means", wraps=True),
)
SETTING_COLUMNS = (
    Column(key="kind", label="Kind"),
    Column(key="name", label="Name", mono=True),
    Column(key="before", label="Before", mono=True),
    Column(key="after", label="After", mono=True),
)
STATISTICS_COLUMNS = (
    Column(key="path", label="Column", mono=True),
    Column(key="files", label="Files with a range", align="right"),
    Column(key="min", label="Min"),
    Column(key="max", label="Max"),
    Column(key="nulls", label="Null count", align="right"),
)

_ROWS = (
    ("added", 1, "added files", "Live rows of files that only the newer version has."),
    ("removed", -1, "removed files", "Live rows of files that only the older version has."),
    (
        "hidden",
        -1,
        "rows newly soft-deleted",
        "Deleted since, in files that both have.",
    ),
    (
        "restored",
        1,
        "rows no longer soft-deleted",
        "Live again, in files that both have.",
    ),
    ("recounted", 1, "other counts", "The same files say that they hold another number of rows."),
)
_ROWS_OF_TABLES = (
    ("added", 1, "files of the second table", "Live rows of files that only the second table has."),
    ("removed", -1, "files of the first table", "Live rows of files that only the first has."),
    (
        "hidden",
        -1,
        "rows soft-deleted in the second",
        "Live in the first, in files that both have.",
    ),
    (
        "restored",
        1,
        "rows soft-deleted in the first",
        "Live in the second, in files that both have.",
    ),
    ("recounted", 1, "other counts", "The same files say that they hold another number of rows."),
)


def hidden(vector: Mapping[str, Any] | None) -> int | None:
    """Rows that a deletion vector hides; 0 without one."""
    return 0 if vector is None else vector.get("cardinality")


def file_facts(kind: str, entry: Mapping[str, Any]) -> list[object]:
    """One file in the order of `EXPORTED_FILES`."""
    partition = render_partition(entry["partition_values"])
    if kind == "changed":
        pairs = [entry[f"{name}_{side}"] for name in ("size", "num_records", "cardinality")
                 for side in ("before", "after")]  # fmt: skip
        return [kind, entry["path"], partition, *pairs, ", ".join(entry["changes"])]
    known = [entry["size"], entry["num_records"], hidden(entry["deletion_vector"])]
    pairs = [fact for value in known
             for fact in ((None, value) if kind == "added" else (value, None))]  # fmt: skip
    return [kind, entry["path"], partition, *pairs, ""]


def build_file_row(kind: str, entry: Mapping[str, Any], *, is_of_two_tables: bool) -> Row:
    """One file that was added, removed or changed, or that only one of two tables has."""
    signs = _SIGNS_OF_TABLES if is_of_two_tables else SIGNS
    _, path, partition, *numbers, changes = file_facts(kind, entry)
    sizes, rows, hidden_rows = numbers[:2], numbers[2:4], numbers[4:6]
    return Row(
        cells=(
            Cell(text=signs[kind]),
            Cell(text=cut_path(str(path), 52), title=cut(str(path), 1000)),
            Cell(text=cut(str(partition), 60) or DASH, title=cut(str(partition), 1000)),
            _both(kind, sizes, format_bytes),
            _both(kind, rows, format_count),
            _both(kind, hidden_rows, format_count),
            Cell(text=cut(str(changes), 60) or DASH, title=cut(str(changes), 300)),
        )
    )


def _both(kind: str, values: Sequence[Any], shown: Any) -> Cell:
    """A number before and after; once where they are the same, or where only one side is."""
    if kind != "changed":
        value = values[1] if kind == "added" else values[0]
        return Cell(text=shown(value), title=format_count(value), muted=value is None)
    before, after = values
    if before == after:
        return Cell(text=shown(after), title=format_count(after), muted=after is None)
    return Cell(
        text=f"{shown(before)}{ARROW}{shown(after)}",
        title=f"{format_count(before)}{ARROW}{format_count(after)}",
    )


def build_row_rows(rows: Any, *, is_of_two_tables: bool) -> list[Row]:
    """By what rows were inserted and deleted, and the sum."""
    found = []
    for name, sign, by, meaning in _ROWS_OF_TABLES if is_of_two_tables else _ROWS:
        value = getattr(rows, name)
        if value == 0 and name == "recounted":
            continue
        signed = None if value is None else sign * value
        text = "0" if signed == 0 else format_signed(signed)
        found.append(
            Row(
                cells=(
                    Cell(text=by),
                    Cell(text=text, muted=signed in {None, 0}),
                    Cell(text=meaning),
                )
            )
        )
    together = Cell(text=format_signed(rows.net), muted=rows.net is None)
    note = "By statistics and deletion vectors; no row was read."
    return [*found, Row(cells=(Cell(text="together"), together, Cell(text=note)))]


def build_schema_row(change: SchemaChange) -> Row:
    """One difference of one field."""
    path = change.path or "the table"
    moved = change.path_before is not None and change.path_before != change.path
    where = f"{path} (was {change.path_before})" if moved and change.path_before else path
    return Row(
        cells=(
            Cell(text=change.kind),
            Cell(text=cut(where, 80), title=cut(where, 500)),
            _text(change.before),
            _text(change.after),
            Cell(text=DASH if change.field_id is None else str(change.field_id)),
            Cell(text=change.meaning or DASH),
        )
    )


def build_setting_rows(
    settings: Sequence[SettingChange], protocol: ProtocolChange | None
) -> list[Row]:
    """Properties, facts of the table, domains, transactions, then the protocol."""
    rows = [_setting(change.kind, change.name, change.before, change.after) for change in settings]
    return rows if protocol is None else [*rows, *_protocol_rows(protocol)]


def _protocol_rows(protocol: ProtocolChange) -> list[Row]:
    rows = []
    versions = (
        ("reader version", protocol.reader_before, protocol.reader_after),
        ("writer version", protocol.writer_before, protocol.writer_after),
    )
    rows += [
        _setting("protocol", name, str(before), str(after))
        for name, before, after in versions
        if before != after
    ]
    features = (
        (protocol.added, "not supported", "supported"),
        (protocol.removed, "supported", "not supported"),
        (protocol.activated, "not active", "active"),
        (protocol.deactivated, "active", "not active"),
    )
    for names, before, after in features:
        rows += [_setting("feature", name, before, after) for name in names]
    return rows


def _setting(kind: str, name: str, before: str | None, after: str | None) -> Row:
    shown = Cell(text=cut(name, 80), title=cut(name, 500))
    return Row(cells=(Cell(text=kind), shown, _text(before), _text(after)))


def build_statistics_row(entry: Mapping[str, Any]) -> Row:
    """One column's statistics before and after."""
    coverage = [
        None if entry[f"files_{side}"] is None
        else f"{entry[f'bounded_{side}']:,} of {entry[f'files_{side}']:,}"
        for side in ("before", "after")
    ]  # fmt: skip
    nulls = [
        null_count_in_words(
            *(entry[f"{fact}_{side}"] for fact in ("null_count", "counted", "files"))
        )
        for side in ("before", "after")
    ]
    sides = [[entry[f"{fact}_{side}"] for side in ("before", "after")]
             for fact in ("minimum", "maximum")]  # fmt: skip
    if str(entry["type_after"] or entry["type_before"]).startswith("timestamp"):
        sides = [render_value_times(pair) for pair in sides]
    name = str(entry["path"])
    return Row(
        cells=(
            Cell(text=cut(name, 60), title=cut(name, 500)),
            *(_sides(*pair) for pair in (coverage, *sides, nulls)),
        )
    )


def _sides(before: str | None, after: str | None) -> Cell:
    if before == after:
        return Cell(text=UNKNOWN if after is None else cut(after, 60), title=cut(after or "", 500),
                    muted=True)  # fmt: skip
    text, title = (
        ARROW.join(DASH if value is None else cut(value, limit) for value in (before, after))
        for limit in (34, 500)
    )
    return Cell(text=text, title=title)


def _text(value: str | None) -> Cell:
    if value is None:
        return Cell(text=DASH, title="not there", muted=True)
    return Cell(text=cut(value, 60), title=cut(value, 2000))


def compare_figures(
    settings: Any, files: Any | None, rows: RowDifferences | None = None
) -> list[KeyFigure]:
    """What differs as figures; those of files are pending while `files` is None, and of rows the
    sum is told until those that differ are known."""
    pending = "\N{HORIZONTAL ELLIPSIS}"
    figures = [KeyFigure(name=name, value=pending) for name in ("Files", "Size", "Rows")]
    if files is not None:
        changed, change = files.count("changed"), files.bytes_added - files.bytes_removed
        added, removed = format_count(files.count("added")), format_count(files.count("removed"))
        figures = [
            KeyFigure(name="Files", value=f"+{added} \N{MINUS SIGN}{removed}",
                      remark=f"{format_count(changed)} kept with changes"),
            KeyFigure(name="Size", value=format_signed_bytes(change),
                      remark=f"+{format_bytes(files.bytes_added)} "
                             f"\N{MINUS SIGN}{format_bytes(files.bytes_removed)}",
                      exact=f"{format_signed(change)} bytes"),
            _row_figure(files.rows.net, rows),
        ]  # fmt: skip
    word = _protocol_word(settings.protocol)
    if not _is_same(settings.schema):
        figures.append(
            KeyFigure(name="Schema", value=_layer(settings.schema), remark="field by field")
        )
    own = _own_settings(settings.properties)
    if not _is_same(own):
        remark = "" if word == _SAME_PROTOCOL else word
        figures.append(KeyFigure(name="Properties", value=_layer(own), remark=remark))
    elif word != _SAME_PROTOCOL:
        figures.append(KeyFigure(name="Protocol", value="differs", remark=word))
    return figures


def _row_figure(net: int | None, rows: RowDifferences | None) -> KeyFigure:
    if rows is None or rows.reason is not None:
        return KeyFigure(name="Rows, net", value=format_signed(net), remark="by statistics")
    changed, inserted, deleted = (
        format_count(side.num_rows) for side in (rows.after, rows.inserted, rows.deleted)
    )
    sides = f"+{inserted} \N{MINUS SIGN}{deleted}"
    if not rows.after.num_rows:
        return KeyFigure(name="Rows", value=sides, remark="rows that differ")
    what = "differ" if rows.is_of_two_tables else "changed"
    return KeyFigure(name="Rows", value=f"{changed} {what}", remark=sides)


def same_sentence(settings: Any, files: Any | None) -> str:
    """What is the same, in one line; empty where everything differs."""
    same = [
        word
        for word, layer in (("schema", settings.schema), ("properties", settings.properties))
        if _is_same(layer)
    ]
    if not isinstance(settings.protocol, Problem) and settings.protocol.is_empty:
        same.append("protocol")
    if files is not None and not files.num_files:
        same.append("files and rows")
    return f"The same: {', '.join(same)}." if same else ""


def compare_sentence(
    start: str, settings: Any, files: Any | None, rows: RowDifferences | None = None
) -> str:
    """What differs, in one sentence, rows first; as far as it is known while `files`, or the
    `rows` that differ, are None."""
    known = rows is not None and rows.reason is None
    first = (rows.counts_in_words or "no row differs") if rows and known else settings.commit
    lead = [first] if first else []
    if files is None:
        more = settings.more_files
        noun = "file" if abs(more) == 1 else "files"
        count = f"{format_count(abs(more))} {noun} {'more' if more > 0 else 'fewer'}"
        files_told = count if more else "as many files"
        return f"{start}: {'; '.join([*lead, files_told, *_layer_words(settings)])}."
    words = _TOLD_OF_TABLES if settings.is_of_two_tables else _TOLD
    counts = [(files.count(kind), verb) for kind, verb in words.items()]
    told = [f"{format_count(number)} {verb}" for number, verb in counts if number]
    if told:
        number, verb = told[0].split(" ", 1)
        told[0] = f"{number} {'file' if number == '1' else 'files'} {verb}"
    if told and not lead:
        lead = [_net_words(files.rows.net, is_of_two_tables=settings.is_of_two_tables)]
    parts = [*lead, _joined(told) if told else "no file differs"]
    return f"{start}: {'; '.join([*parts, *_layer_words(settings)])}."


def _net_words(net: int | None, *, is_of_two_tables: bool) -> str:
    if net is None:
        what = "whether the rows differ" if is_of_two_tables else "how the rows changed"
        return f"{what} is unknown"
    if not net:
        return "as many rows" if is_of_two_tables else "as many rows as before"
    noun = "row" if abs(net) == 1 else "rows"
    return f"{format_count(abs(net))} {'more' if net > 0 else 'fewer'} {noun}"


def _layer_words(settings: Any) -> list[str]:
    """What differs beside the files."""
    parts = [] if _is_same(settings.schema) else ["the schema differs"]
    parts += _setting_words(settings.properties, is_of_two_tables=settings.is_of_two_tables)
    word = _protocol_word(settings.protocol)
    return parts if word == _SAME_PROTOCOL else [*parts, word]


def _setting_words(layer: Any, *, is_of_two_tables: bool) -> list[str]:
    """What differs beside files and schema, by its kind."""
    if isinstance(layer, Problem):
        return ["whether the properties differ is unknown"]
    kinds = [change.kind for change in layer]
    words = {
        "table": "what the table says of itself differs",
        "property": "the properties differ",
        "domain": "metadata domains differ",
    }
    told = [text for kind, text in words.items() if kind in kinds]
    if moved := kinds.count("transaction"):
        noun = "application transaction" if moved == 1 else "application transactions"
        differ = "differs" if moved == 1 else "differ"
        told.append(f"{format_count(moved)} {noun} {differ if is_of_two_tables else 'advanced'}")
    return told


def _joined(told: Sequence[str]) -> str:
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _is_same(layer: Any) -> bool:
    return not isinstance(layer, Problem) and not layer


def _own_settings(layer: Any) -> Any:
    """The changes of settings without what applications noted of their progress."""
    if isinstance(layer, Problem):
        return layer
    return [change for change in layer if change.kind != "transaction"]


def _layer(layer: Sequence[object] | Problem) -> str:
    if isinstance(layer, Problem):
        return UNKNOWN
    if not layer:
        return "the same"
    return f"{format_count(len(layer))} {'change' if len(layer) == 1 else 'changes'}"


def _protocol_word(protocol: ProtocolChange | Problem) -> str:
    if isinstance(protocol, Problem):
        return "protocol unknown"
    if protocol.is_empty:
        return _SAME_PROTOCOL
    before = (protocol.reader_before, protocol.writer_before)
    is_other = before != (protocol.reader_after, protocol.writer_after)
    if is_other or protocol.added or protocol.removed:
        return "another protocol"
    return "other features in use"
