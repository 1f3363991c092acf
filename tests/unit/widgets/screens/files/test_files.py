"""The files of a version on the page, and what the log says of one."""

from __future__ import annotations

import json
from pathlib import Path

from tests.data_tables import mapped, struct
from tests.tables import LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page

PROTOCOL = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
MAPPED = struct(
    mapped("id", "long", "col-1", 1),
    mapped("buyer", struct(mapped("name", "string", "col-3", 3)), "col-2", 2),
    mapped("day", "string", "col-4", 4),
)


def test_what_keeps_files_from_being_read_stands_apart_from_the_filter(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "broken")
    log.write("00000000000000000000.json", "{")
    page = Page().open(log.root, view="files")
    assert '<div class="dx-below"><div class="dx-notice dx-error"' in page.html


def test_a_file_is_told_by_logical_names_alone(tmp_path: Path) -> None:
    stats = {"minValues": {"col-1": 7, "col-2": {"col-3": "ann"}}, "nullCount": {"col-1": 0}}
    described = metadata(
        schemaString=json.dumps(MAPPED),
        partitionColumns=["day"],
        configuration={"delta.columnMapping.mode": "name"},
    )
    log = LogFolder(tmp_path / "mapped")
    file = add("a.parquet", partitionValues={"col-4": "monday"}, stats=json.dumps(stats))
    log.commit(0, [PROTOCOL, described, file])
    page = Page().open(log.root, view="files", file="a.parquet")
    shown = page.html.partition("Statistics as stored")[0]
    assert "day=monday" in shown
    assert ">buyer.name</td>" in shown
    assert ">id</td>" in shown
    assert "col-" not in shown
