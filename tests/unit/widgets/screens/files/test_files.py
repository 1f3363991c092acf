"""The files of a version on the page, and what the log says of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explorer
import widgets.screens.files.view
from explorer.progress import UNWATCHED
from tests.data_tables import mapped, struct
from tests.tables import LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.files._ask import OneFile, Origin, read_origin
from widgets.session.tables import TableService

PROTOCOL_3_7 = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
}
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


def origin_of(log: LogFolder, path: str, version: int) -> Origin:
    service = TableService(explorer.open_table(log.root))
    return read_origin(OneFile(service, version, path, version), UNWATCHED)


def test_a_file_leads_to_the_commit_that_wrote_it_and_not_to_those_that_added_it_again(
    tmp_path: Path,
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    log.commit(1, [{"commitInfo": {"operation": "WRITE"}}, add("b c%20d.parquet")])
    again = add("b c%20d.parquet", dataChange=False)
    log.commit(2, [{"commitInfo": {"operation": "OPTIMIZE"}}, remove("b c%20d.parquet"), again])
    log.commit(3, [remove("a.parquet")])
    log.commit(4, [{"commitInfo": {"operation": "RESTORE"}}, add("a.parquet")])
    page = Page().open(log.root, view="files", file="b c%20d.parquet")
    assert "<dt>Written by</dt>" in page.html
    assert 'data-do="commit" data-value="1"' in page.html
    assert ", WRITE</dd>" in page.html
    assert origin_of(log, "a.parquet", 4) == Origin(version=0, operation=None, first=0)
    page.do("commit", "1")
    assert (page.state.view, page.state.version) == ("commit", 1)


def test_a_file_that_the_version_does_not_hold_is_said_to_be_none(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    log.commit(1, [remove("a.parquet")])
    page = Page().open(log.root, view="files", file="a.parquet")
    assert "This version does not hold the file." in page.html
    assert "Written by" not in page.html
    assert "statistics" not in page.html
    page.state.version = 0
    assert "Written by" in page.html


@pytest.mark.parametrize(
    ("path", "written"), [("a.parquet", None), ("b.parquet", None), ("c.parquet", 3)]
)
def test_a_file_older_than_the_log_has_no_commit_to_lead_to(
    tmp_path: Path, path: str, written: int | None
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet"), add("b.parquet")])
    log.commit(1, [remove("b.parquet"), add("b.parquet", dataChange=False)])
    log.checkpoint(1, [PROTOCOL, metadata(), add("a.parquet"), add("b.parquet")])
    log.hint(1)
    log.commit(2, [remove("b.parquet"), add("b.parquet", dataChange=False)])
    log.commit(3, [add("c.parquet")])
    for version in (0, 1):
        (log.root / "_delta_log" / f"{version:020}.json").unlink()
    assert origin_of(log, path, 3).version == written
    page = Page().open(log.root, view="files", file=path)
    assert ("not known: the log begins at version 1" in page.html) == (written is None)


def test_the_commits_of_a_long_log_are_read_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    log.commit(1, [add("b.parquet")])
    monkeypatch.setattr(widgets.screens.files.view, "FREE_COMMITS", 1)
    # by the length of the log, whichever version is looked at
    page = Page().open(log.root, view="files", file="a.parquet", version=0)
    assert page.state.version == 0
    assert "Written by" not in page.html
    page.do("origin")
    assert 'data-do="commit" data-value="0"' in page.html


def test_a_file_that_a_shortened_log_restores_is_not_told_to_be_of_that_commit(
    tmp_path: Path,
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet"), add("b.parquet")])
    log.commit(1, [remove("a.parquet")])
    log.checkpoint(1, [PROTOCOL, metadata(), add("b.parquet")])
    log.commit(2, [{"commitInfo": {"operation": "RESTORE"}}, add("a.parquet")])
    log.checkpoint(2, [PROTOCOL, metadata(), add("a.parquet"), add("b.parquet")])
    log.hint(2)
    log.commit(3, [add("c.parquet")])
    assert origin_of(log, "a.parquet", 3).version == 0
    (log.root / "_delta_log" / f"{0:020}.json").unlink()
    assert origin_of(log, "a.parquet", 3).version is None
    (log.root / "_delta_log" / f"{1:020}.json").unlink()
    (log.root / "_delta_log" / f"{1:020}.checkpoint.parquet").unlink()
    assert origin_of(log, "a.parquet", 3).version is None
    assert origin_of(log, "c.parquet", 3).version == 3


def test_a_file_with_a_vector_leads_to_the_rows_that_it_hides(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "sizeInBytes": 34, "cardinality": 1}
    files = [add("a.parquet", deletionVector=vector), add("b.parquet")]
    log.commit(0, [PROTOCOL_3_7, metadata(), *files])
    page = Page().open(log.root, view="files", file="b.parquet")
    assert "See the soft-deleted rows" not in page.html
    page.state.file = "a.parquet"
    assert "1 row soft-deleted" in page.html
    page.do("vectors")
    assert (page.state.view, page.state.file) == ("vectors", "a.parquet")
