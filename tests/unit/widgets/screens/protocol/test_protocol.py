"""Features on the page: supported since, active since, and what keeps one from being active."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tables import Action, LogFolder, metadata
from tests.unit.widgets.page.test_explorer_view import Page


def protocol(*features: str) -> Action:
    body = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": []}
    return {"protocol": body | {"writerFeatures": list(features)}}


def row_of(page: Page, feature: str) -> str:
    rows: list[str] = re.findall(r"<tr.*?</tr>", page.html, re.DOTALL)
    return next(row for row in rows if f">{feature}<" in row)


def test_supported_since_and_active_since_stand_beside_each_other(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [protocol("appendOnly"), metadata()])
    log.commit(1, [metadata(configuration={"delta.appendOnly": "true"})])
    page = Page().open(log.root, view="protocol")
    row = row_of(page, "appendOnly")
    assert row.index("version 0") < row.index("version 1")
    assert "00000000000000000001.json, line 1" in row
    assert "1 supported, 1 of them active." in page.html


def test_what_only_looks_active_says_why_it_is_not(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    timed = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
    log.commit(0, [protocol("clustering", "domainMetadata", "mystery"), timed])
    page = Page().open(log.root, view="protocol")
    assert "supported, not active: clustered by no column" in row_of(page, "clustering")
    assert "unknown to this release" in row_of(page, "mystery")
    assert "not supported: properties or columns ask for it" in row_of(page, "inCommitTimestamp")
    assert "3 supported, 1 of them active." in page.html
    assert "1 more feature is asked for and not supported." in page.html
