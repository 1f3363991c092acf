"""The columns of a table on the page: names, rules, and which files hold them."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pyarrow as pa

import explorer
import explorer.inspect as look
from tests.data_tables import DataTable, field, mapped, struct
from tests.tables import PROTOCOL, LogFolder, metadata
from tests.unit.widgets.page.test_explorer_view import Page

RENAMED = struct(mapped("id", "long", "id", 1), mapped("note", "string", "col-8f2b", 2))


def notes(folder: Path, *files: pa.Table) -> Path:
    table = DataTable(
        folder / "notes",
        RENAMED,
        features=("columnMapping",),
        configuration={"delta.columnMapping.mode": "name", "delta.constraints.small": "id < 9"},
    )
    for at, rows in enumerate(files):
        table.add(f"{at}.parquet", rows)
    return table.write()


IDS = pa.table({"id": [1]})
BOTH = pa.table({"id": [1], "col-8f2b": ["x"]})


def test_fields_rules_and_names_in_files_are_shown_by_the_log_alone(tmp_path: Path) -> None:
    page = Page().open(notes(tmp_path, BOTH), view="schema")
    assert "The table has 2 columns." in page.html
    assert "1 field has another name in files." in page.html
    assert "col-8f2b" in page.html
    assert "id &lt; 9" in page.html
    assert "no: checkConstraints is not supported" in page.html


def test_footers_are_read_on_demand_and_lead_to_the_file(tmp_path: Path) -> None:
    place = notes(tmp_path, IDS, BOTH)
    page = Page().open(place, view="schema")
    assert "Files without a column" not in page.html
    page.do("footers")
    sentence = look.columns_by_files(explorer.open_table(place).snapshot()).sentence
    assert html.escape(sentence) in page.html
    assert "Files without a column" in page.html
    page.do("file", "0.parquet")
    assert (page.state.view, page.state.file) == ("files", "0.parquet")


def test_a_wider_type_is_told_from_one_that_never_changed(tmp_path: Path) -> None:
    change = [{"fromType": "integer", "toType": "long", "tableVersion": 1}]
    found = []
    for name, meta in (("wider", {"delta.typeChanges": change}), ("plain", {})):
        table = DataTable(tmp_path / name, struct(field("id", "long", **meta)))
        found.append(Page().open(table.write(), view="schema").html)
    assert "1 type was widened: older files still hold the former one." in found[0]
    assert "type widened: integer to long" in found[0]
    assert "type widened" not in found[1]
    assert "was widened" not in found[1]


def test_the_history_of_the_schema_leads_from_a_field_to_its_commit(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    note = field("note", "string", comment="<b>")
    for version, fields in enumerate(([field("id", "long")], [field("id", "long"), note])):
        schema = json.dumps(struct(*fields))
        log.commit(version, [*([] if version else [PROTOCOL]), metadata(schemaString=schema)])
    page = Page().open(log.root, view="schema")
    assert "The schema changed in 1 version, last in version 1: 1 column added." in page.html
    page.do("commit", "1")
    assert (page.state.view, page.state.version) == ("timeline", 1)
