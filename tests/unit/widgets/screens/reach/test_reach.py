"""How far versions reach back on the page, why a file is here, what lies in the folder."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from explorer.inspect.reach._frames import STATES
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.reach._parts import Stretch, _render_line, tone_of
from widgets.ui.live_html import LiveHtml

DAY = 86_400_000


def orders(folder: Path) -> LogFolder:
    """Four versions, one a day; the second removes a file and the third adds two."""
    now = time.time_ns() // 1_000_000
    log = LogFolder(folder / "orders")
    removed = remove("old.parquet", deletionTimestamp=now - 39 * DAY)
    feed = metadata(configuration={"delta.enableChangeDataFeed": "true"})
    log.commit(0, [PROTOCOL, metadata(), add("old.parquet")])
    log.commit(1, [removed, add("new.parquet")])
    log.commit(2, [feed])
    log.commit(3, [add("newest.parquet")])
    for version, age in enumerate((40, 39, 2, 1)):
        log.time(version, now - age * DAY)
    for name in ("old", "new", "newest"):
        place = log.root / f"{name}.parquet"
        place.write_bytes(b"x" * 100)
        os.utime(place, ns=((now - 40 * DAY) * 10**6,) * 2)
    return log


def test_the_log_alone_says_what_is_promised_and_what_is_not(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="reach")
    assert "may have lost files to a vacuum" in page.html
    assert "delta.deletedFileRetentionDuration" in page.html
    assert "Version 3: kept, without end" in page.html
    assert "Look at the files themselves" in page.html


def test_one_short_sentence_leads_and_the_rest_is_folded(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="reach")
    lead = page.html.partition('<p class="dx-lead">')[2].partition("</p>")[0]
    assert lead == (
        "By the log versions 1\N{EN DASH}3 have all their files; version 0 may have lost files; "
        "Delta Spark 4.1 and newer reads only versions 2\N{EN DASH}3."
    )
    shown, _, folded = page.html.partition("<summary>Reasons and limits</summary>")
    reason = ", because of delta.deletedFileRetentionDuration (interval 1 week, the default)."
    assert reason in folded
    assert "which only a listing of the files shows" not in shown
    assert "which only a listing of the files shows" in folded


def test_the_line_has_its_version_and_the_legend_only_what_is_drawn(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="reach", version=2)
    axis = page.html.partition('<div class="dx-axis"')[2].partition("</p>")[0]
    assert ">version 2</span>" in axis
    legend = axis.partition('<p class="dx-legend">')[2]
    drawn = set(re.findall(r"dx-tone-(\w+)", axis.partition('<p class="dx-legend">')[0]))
    assert set(re.findall(r"dx-tone-(\w+)", legend)) == drawn
    assert "gone" not in drawn


def test_files_that_are_there_make_versions_readable(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="reach", version=0)
    assert "Version 0: not protected, any vacuum may have deleted its files" in page.html
    page.do("files")
    assert "Version 0: files there, but only until the next vacuum" in page.html
    assert "Look at the files themselves" not in page.html
    assert "--files" in page.html


def test_a_version_whose_data_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    log = orders(tmp_path)
    (log.root / "old.parquet").unlink()
    page = Page().open(log.root, view="reach", version=0)
    page.do("files")
    assert "Version 0: data gone; its change feed: not enabled." in page.html
    assert "dx-tone-gone" in page.html


def test_what_is_gone_lies_above_its_neighbours_on_the_axis() -> None:
    stretches = [
        Stretch(start=at / 10, end=(at + 1) / 10, tone=tone, title=str(at))
        for at, tone in enumerate(("gone", "risk", "gone", "good"))
    ]
    line = _render_line("Time travel", stretches, None)
    assert re.findall(r'title="(\d)"', line) == ["1", "3", "0", "2"]


@pytest.mark.parametrize("state", STATES)
def test_only_what_is_gone_has_its_colour(state: str) -> None:
    assert (tone_of(state) == "gone") == state.endswith(("gone", "log not readable"))
    assert (tone_of(state) == "risk") == (state == "readable, unprotected")
    assert (tone_of(state) == "unseen") == (state == "unprotected")  # nobody looked for its files


def test_delta_spark_is_said_to_refuse_only_what_is_there(tmp_path: Path) -> None:
    log = orders(tmp_path)
    page = Page().open(log.root, view="reach", version=0)
    refused = "Delta Spark 4.1 and newer refuses to travel there, because of delta.deletedFile"
    assert refused in page.html
    assert ">refused<" in page.html
    assert ">readable<" in page.html
    assert "reads only versions 2\N{EN DASH}3, because of" in page.html
    assert ">files kept<" in page.html
    assert 'class="dx-tone-files" title="version 1: files kept, refused by Delta' in page.html
    (log.root / "old.parquet").unlink()
    page.do("files")
    assert refused not in page.html
    (log.log / f"{0:020}.json").unlink()
    page = Page().open(log.root, view="reach", version=0)
    assert "reads only" not in page.html
    assert "refused" not in page.html


def test_versions_without_a_commit_are_said_to_be_gone(tmp_path: Path) -> None:
    log = orders(tmp_path)
    known = [PROTOCOL, metadata(), add("new.parquet")]
    log.checkpoint(1, known)
    for version in (0, 1):
        (log.log / f"{version:020}.json").unlink()
    page = Page().open(log.root, view="reach", version=0)
    assert "Version 0: log gone" in page.html


def test_a_version_is_selected_and_marked_on_the_axis(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="reach")
    page.do("version", "1")
    assert page.state.version == 1
    assert "Version 1: files kept" in page.html
    axis = next(part.html for part in page.parts() if "dx-axis" in part.html)
    # a day of forty after the first version
    assert "left:2.5" in axis.partition("<b ")[2].partition(">")[0]
    page.do("version", "99")
    assert page.state.version == 1


def test_both_windows_lie_on_the_axis_of_the_versions(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="reach")
    axis = next(part.html for part in page.parts() if "dx-axis" in part.html)
    assert "delta.deletedFileRetentionDuration: interval 1 week" in axis
    assert "delta.logRetentionDuration: interval 30 days" in axis
    # seven days before now, of forty
    assert "left:82.5" in axis


def test_window_far_beyond_the_versions_leaves_them_half_of_the_axis(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    for_ever = {"delta.logRetentionDuration": "interval 9000000 days"}
    log.commit(0, [PROTOCOL, metadata(configuration=for_ever), add("a.parquet")])
    log.commit(1, [add("b.parquet")])
    now = time.time_ns() // 1_000_000
    log.time(0, now - 40 * DAY)
    log.time(1, now - 10 * DAY)
    page = Page().open(log.root, view="reach")
    axis = next(part.html for part in page.parts() if "dx-axis" in part.html)
    drawn = axis.partition('class="dx-axis"')[2]
    travel, _, windows = drawn.partition("deletedFileRetentionDuration")
    assert "left:50" in travel
    assert "left:91.2" in windows  # a week of eighty days
    assert "interval 9000000 days, since 0001-01-01 00:00:00 UTC" in windows
    page.do("version", "1")
    axis = next(part.html for part in page.parts() if "dx-axis" in part.html)
    assert "left:87.5" in axis.partition("<b ")[2].partition(">")[0]


def test_a_file_is_asked_for_by_its_path(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="reach")
    page.do("file", " old.parquet ")
    assert page.state.file == "old.parquet"
    assert "Versions that need it" in page.html
    assert "00000000000000000001.json:1" in page.html
    page.do("file", "")
    assert "The path of any file below the table" in page.html


@pytest.mark.parametrize("file", ["../secret.parquet", "nowhere.parquet"])
def test_what_is_no_file_of_the_table_is_said_to_be_none(tmp_path: Path, file: str) -> None:
    page = Page().open(orders(tmp_path).root, view="reach", file=file)
    assert "leaves the table" in page.html or "no file" in page.html.lower()
    assert "How far versions reach back" in page.html


def test_the_folder_is_listed_on_demand_and_leads_to_the_reason(tmp_path: Path) -> None:
    log = orders(tmp_path)
    (log.root / "notes.txt").write_text("mine")
    page = Page().open(log.root, view="reach")
    assert "notes.txt" not in page.html
    page.do("folder")
    assert "notes.txt" in page.html
    page.do("file", "notes.txt")
    assert page.state.file == "notes.txt"


def test_versions_are_exported_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    page = Page().open(orders(tmp_path).root, view="reach")
    part = next(part for part in page.parts() if "Version by version" in part.html)
    part._handle_msg({"action": "export", "value": ""})
    lines = saved["reach.csv"].splitlines()
    assert lines[0].startswith("version,timestamp,travel")
    assert [line.partition(",")[0] for line in lines[1:]] == ["3", "2", "1", "0"]


def test_times_beyond_the_calendar_are_drawn_all_the_same(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "odd")
    named = {"commitInfo": {"inCommitTimestamp": 2**62, "operation": "WRITE"}}
    protocol = {
        "protocol": {
            "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [],
            "writerFeatures": ["inCommitTimestamp"],
        }
    }  # fmt: skip
    described = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
    log.commit(0, [named, protocol, described, add("a.parquet")])
    page = Page().open(log.root, view="reach")
    assert "Version by version" in page.html


def test_what_spark_does_is_not_guessed_where_the_retention_cannot_be_read(tmp_path: Path) -> None:
    log = orders(tmp_path)
    own = {"delta.deletedFileRetentionDuration": "interval 3 <b>months"}
    log.commit(4, [metadata(configuration=own)])
    page = Page().open(log.root, view="reach", version=0)
    assert "cannot be read" in page.html
    assert "interval 3 &lt;b&gt;months" in page.html
    assert ">readable<" not in page.html
    assert "refused" not in page.html
