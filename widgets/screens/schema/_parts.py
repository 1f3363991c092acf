"""Columns as pieces of the page: fields, rules, and which files hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from widgets.text import cut, cut_middle, format_count, format_many
from widgets.ui.table import Cell, Column, Row

DASH = "\N{EN DASH}"

FIELD_COLUMNS = (
    Column(key="name", label="Column", mono=True),
    Column(key="type", label="Type", mono=True),
    Column(key="nullable", label="Nullable"),
    Column(key="physical", label="Name in files", mono=True),
    Column(key="id", label="Field id", align="right", wide=True),
    Column(key="rules", label="Rules and changes", wraps=True),
    Column(key="comment", label="Comment", wide=True),
)
RULE_COLUMNS = (
    Column(key="rule", label="Rule"),
    Column(key="of", label="Of", mono=True),
    Column(key="text", label="Says", mono=True, wraps=True),
    Column(key="binds", label="Writers must follow"),
    Column(key="source", label="Recorded as", mono=True, wide=True),
)
PRESENCE_COLUMNS = (
    Column(key="path", label="Column", mono=True),
    Column(key="name", label="Name in files", mono=True),
    Column(key="with", label="Files with it", align="right"),
    Column(key="without", label="Files without it", align="right"),
    Column(key="null", label="All NULL", align="right"),
    Column(key="counted", label="Files that count NULLs", align="right", wide=True),
)
ABSENT_COLUMNS = (
    Column(key="column", label="Column", mono=True),
    Column(key="file", label="Is not in", mono=True),
    Column(key="reason", label="Why", wraps=True),
)
UNUSED_COLUMNS = (
    Column(key="name", label="Column of files", mono=True),
    Column(key="id", label="Field id", align="right"),
    Column(key="files", label="Files", align="right"),
)
UNREAD_COLUMNS = (
    Column(key="file", label="File", mono=True),
    Column(key="reason", label="Why it was not read", wraps=True),
)


def schema_sentence(fields: Sequence[Mapping[str, Any]]) -> str:
    """How many columns there are, and what is special about them."""
    columns = [field for field in fields if not field["depth"]]
    parts = [format_many(len(columns), "column")]
    nested = len(fields) - len(columns)
    if nested:
        parts.append(f"{format_many(nested, 'field')} inside them")
    partitions = sum(bool(field["is_partition"]) for field in fields)
    if partitions:
        parts.append(f"{format_count(partitions)} of them partition{'s' * (partitions == 1)} it")
    text = f"The table has {', '.join(parts)}."
    renamed = sum(field["physical_name"] not in {None, field["name"]} for field in fields)
    if renamed:
        have = "has" if renamed == 1 else "have"
        text += f" {format_many(renamed, 'field')} {have} another name in files."
    ruled = sum(bool(field["rules"]) for field in fields)
    if ruled:
        text += (
            f" {format_many(ruled, 'column')} {'has' if ruled == 1 else 'have'} a rule for writers."
        )
    changed = sum(bool(field["type_changes"]) for field in fields)
    if changed:
        text += (
            f" {format_many(changed, 'type')} {'was' if changed == 1 else 'were'} widened: "
            "older files still hold the former one."
        )
    return text


def build_field_row(entry: Mapping[str, Any]) -> Row:
    """One field; depth is shown by steps, and a deep one stays within its column."""
    indent = "\N{EM SPACE}" * min(int(entry["depth"]), 12)
    partition = " (partition)" if entry["is_partition"] else ""
    kind = str(entry["type"])
    told = "; ".join(
        text
        for text in (
            entry["rules"],
            entry["type_changes"] and f"type widened: {entry['type_changes']}",
        )
        if text
    )
    comment = str(entry["comment"] or "")
    return Row(
        cells=(
            Cell(text=f"{indent}{cut(str(entry['name']), 80)}{partition}",
                 title=cut(str(entry["path"]), 500)),
            Cell(text=cut(kind, 60), title=cut(kind, 1000)),
            Cell(text="yes" if entry["nullable"] else "no", muted=bool(entry["nullable"])),
            Cell(text=cut_middle(str(entry["physical_name"] or DASH), 40),
                 title=cut(str(entry["physical_name"] or ""), 500)),
            Cell(text=DASH if entry["field_id"] is None else str(entry["field_id"])),
            Cell(text=cut(told, 200) or DASH, title=cut(told, 2000), muted=not told),
            Cell(text=cut(comment, 80) or DASH, title=cut(comment, 500)),
        )
    )  # fmt: skip


def build_rule_row(entry: Mapping[str, Any]) -> Row:
    """One rule for writers."""
    of = str(entry["column"] or entry["name"] or "the table")
    text = str(entry["text"] or "")
    if entry["high_water_mark"] is not None:
        text += f" (highest so far {format_count(entry['high_water_mark'])})"
    feature = entry["feature"]
    binds = "yes" if entry["binds"] else f"no: {feature} is not supported"
    return Row(
        cells=(
            Cell(text=str(entry["rule"])),
            Cell(text=cut(of, 60), title=cut(of, 500)),
            Cell(text=cut(text, 300) or DASH, title=cut(text, 2000)),
            Cell(text=binds, muted=not entry["binds"]),
            Cell(text=cut(str(entry["source"] or DASH), 80)),
        )
    )


def build_presence_row(entry: Mapping[str, Any]) -> Row:
    """One field and the files that hold it; what is not known is a dash."""

    def count(name: str) -> str:
        value = entry[name]
        return DASH if value is None else format_count(value)

    in_log = bool(entry["is_partition"])
    return Row(
        cells=(
            Cell(text=cut(str(entry["path"]), 80), title=cut(str(entry["path"]), 500)),
            Cell(text="in the log: it partitions the table" if in_log
                 else cut_middle(str(entry["name_in_files"]), 48),
                 title=cut(str(entry["name_in_files"]), 500), muted=in_log),
            Cell(text=count("files_with")),
            Cell(text=count("files_without"),
                 tone="risk" if entry["files_without"] else None),
            Cell(text=count("files_all_null")),
            Cell(text=count("files_counted")),
        )
    )  # fmt: skip


def build_absent_row(entry: Mapping[str, Any]) -> Row:
    """One file without one column; a click shows the file."""
    path = str(entry["file"])
    return Row(
        cells=(
            Cell(text=cut(str(entry["column"]), 60), title=cut(str(entry["column"]), 500)),
            Cell(text=cut_middle(path, 48), title=cut(path, 1000)),
            Cell(text=str(entry["reason"])),
        ),
        action="file",
        value=path,
    )


def build_unused_row(entry: Mapping[str, Any]) -> Row:
    """A column of files that no field of the table reads."""
    name, number = str(entry["name_in_files"]), entry["field_id"]
    return Row(
        cells=(
            Cell(text=cut_middle(name, 60), title=cut(name, 500)),
            Cell(text=DASH if number is None else str(number)),
            Cell(text=format_count(entry["num_files"])),
        )
    )


def build_unread_row(entry: Mapping[str, Any]) -> Row:
    """A file whose footer could not be read."""
    path, reason = str(entry["file"]), str(entry["reason"])
    return Row(
        cells=(
            Cell(text=cut_middle(path, 48), title=cut(path, 1000)),
            Cell(text=cut(reason, 300), title=cut(reason, 1000)),
        )
    )
