"""The layout of a table on the page: sizes, partitions, overlap, each OPTIMIZE."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import explorer
import explorer.inspect as look
from tests.tables import PROTOCOL, LogFolder, add, metadata, remove
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.screens.layout._ask import largest_partitions
from widgets.screens.layout._parts import build_depth_row, render_partition_map, render_sizes
from widgets.screens.layout._treemap import Area, build_rectangles, render_treemap
from widgets.ui.live_html import LiveHtml
from widgets.ui.records import read_records

MIB = 2**20


def stats(least: int, most: int) -> str:
    return json.dumps({"numRecords": 10, "minValues": {"id": least}, "maxValues": {"id": most}})


def orders(folder: Path) -> LogFolder:
    """Two partitions: one of ten small files, one of a large one; the former was optimized
    before from three files."""
    log = LogFolder(folder / "orders")
    described = metadata(partitionColumns=["part"], configuration={"delta.targetFileSize": "100mb"})
    log.commit(0, [PROTOCOL, described])
    log.commit(1, [small(name, 5) for name in "xyz"])
    info = {"commitInfo": {"operation": "OPTIMIZE", "engineInfo": "ours"}}
    gone = [remove(f"{name}.parquet", size=5 * MIB, dataChange=False) for name in "xyz"]
    log.commit(2, [info, small("0", 15), *gone])
    large = add("large.parquet", size=200 * MIB, partitionValues={"part": "b"}, stats=stats(0, 9))
    log.commit(3, [*(small(str(at), 10) for at in range(1, 10)), large])
    return log


def small(name: str, mebibytes: int) -> dict[str, object]:
    at = int(name) * 10 if name.isdigit() else 0
    body = {"partitionValues": {"part": "a"}, "stats": stats(at, at + 9)}
    return dict(add(f"{name}.parquet", size=mebibytes * MIB, **body))


@given(st.lists(st.integers(1, 10**9), max_size=40))
@example([1, 32891134, 97346816])
@example([1, 32891135])
def test_a_treemap_fills_its_place_in_proportion(values: list[int]) -> None:
    ordered = sorted(values, reverse=True)
    places = build_rectangles(ordered)
    assert len(places) == len(ordered)
    for value, place in zip(ordered, places, strict=True):
        assert place.width * place.height == pytest.approx(value / sum(ordered), rel=1e-6)
        assert place.left >= -1e-9
        assert place.top >= -1e-9
        assert place.left + place.width <= 1 + 1e-9
        assert place.top + place.height <= 1 + 1e-9


@pytest.mark.slow
@given(st.lists(st.integers(1, 1000), min_size=2, max_size=12))
def test_no_rectangles_of_a_treemap_overlap(values: list[int]) -> None:
    places = build_rectangles(sorted(values, reverse=True))
    for at, one in enumerate(places):
        for other in places[at + 1 :]:
            across = min(one.left + one.width, other.left + other.width) - max(one.left, other.left)
            down = min(one.top + one.height, other.top + other.height) - max(one.top, other.top)
            assert across < 1e-9 or down < 1e-9


def test_what_is_empty_has_no_area() -> None:
    assert "nothing" not in render_treemap("x", [Area(value=0, name="nothing", note="")])


def test_the_worst_partition_is_named_first(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="layout")
    assert "10 of 11 files are below the target of 100.0 MiB" in page.html
    assert "Start with part=a" in page.html
    table = page.html.partition("Partitions, best gain first")[2]
    assert table.index("part=a") < table.index("part=b")
    assert "dx-map" in page.html


def test_other_partitions_have_the_colour_of_what_they_hold(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    described = metadata(partitionColumns=["part"], configuration={"delta.targetFileSize": "1kb"})
    sizes = {"large": 4000, "small": 300, "least": 100}
    files = [
        add(f"{part}.parquet", size=size, partitionValues={"part": part})
        for part, size in sizes.items()
    ]
    files.append(add("more.parquet", size=1200, partitionValues={"part": "least"}))
    log.commit(0, [PROTOCOL, described, *files])
    layout = look.file_layout(explorer.open_table(log.root).snapshot())
    (largest,) = read_records(largest_partitions(layout.partitions, 1))
    html = render_partition_map([largest], layout)
    # 400 of 1,600 bytes lie in small files
    assert "--heat:0%" in html.partition("part=large")[0]
    others = html.partition("part=large")[2]
    assert "--heat:25%" in others
    assert "2 other partitions: 1.6 KiB in 3 files, 25.00% of it in small ones" in others


def days(folder: Path, number: int) -> LogFolder:
    """A partition of two files for each of so many days, the later the larger."""
    log = LogFolder(folder / "days")
    files = [
        add(f"{at}-{part}.parquet", size=1000 + at, partitionValues={"part": f"day {at:04}"})
        for at in range(number)
        for part in (0, 1)
    ]
    log.commit(0, [PROTOCOL, metadata(partitionColumns=["part"]), *files])
    return log


def test_of_many_partitions_the_largest_are_drawn_and_the_others_told(tmp_path: Path) -> None:
    page = Page().open(days(tmp_path, 300).root, view="layout").html
    drawn = page.partition('<div class="dx-map"')[2].partition("<p class=")[0]
    assert drawn.count("<div style=") == 20
    assert "part=day 0299" in drawn
    assert "part=day 0279" not in drawn
    assert "other partition" not in drawn
    assert (
        "Drawn: the 20 largest partitions by bytes, 7.48% of the table. 280 other partitions: "
        "623.2 KiB in 560 files, all of it in small ones." in page
    )


def test_classes_of_sizes_without_files_keep_their_place() -> None:
    rows = [
        {"from_bytes": 0, "below_bytes": 2, "num_files": 1, "bytes": 1},
        {"from_bytes": 8, "below_bytes": 16, "num_files": 2, "bytes": 20},
    ]
    html = render_sizes(rows, target=8)
    assert html.count("<g") == 4
    assert html.count('class="dx-marked"') == 3
    assert "4 B to 8 B: 0 files" in html


def test_overlap_is_told_by_column(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="layout")
    overlap = page.html.partition("Overlap by column")[2]
    # ten files of one partition and one of another, which do not overlap
    assert '<i class="dx-share" style="--share:0.0%"></i>1.0 of 9.2<' in overlap


@pytest.mark.parametrize(
    ("mean", "whole", "bar"), [(1.0, 1.0, 0), (1.0, 8.0, 0), (8.0, 8.0, 1), (4.5, 8.0, 0.5)]
)
def test_overlap_is_measured_against_the_partition(mean: float, whole: float, bar: float) -> None:
    facts = {"column": "id", "is_clustering": False, "num_files": 800, "max_depth": 8,
             "files_without_bounds": 0, "files_alone": 0}  # fmt: skip
    row = build_depth_row(facts | {"mean_depth": mean, "mean_partition_files": whole})
    assert row.cells[1].share == bar
    assert row.cells[1].text == f"{mean} of {whole}"


def test_each_optimize_is_told_with_its_sizes_and_leads_to_its_comparison(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="layout")
    assert "3 \N{RIGHTWARDS ARROW} 1" in page.html
    assert "5.0 MiB \N{RIGHTWARDS ARROW} 15.0 MiB" in page.html
    assert "2 fewer files" in page.html
    page.state.other = "/lake/copy"  # was compared with before
    page.do("version", "2")
    assert (page.state.view, page.state.version, page.state.other) == ("compare", 2, "")


def test_a_version_without_files_says_so(tmp_path: Path) -> None:
    page = Page().open(orders(tmp_path).root, view="layout", version=0)
    assert "Version 0 has no files." in page.html
    assert "Bytes by partition" not in page.html


@pytest.mark.parametrize(
    ("columns", "said"), [(["part"], "in 1 partition"), ([], "not partitioned")]
)
def test_one_partition_is_told_from_none(tmp_path: Path, columns: list[str], said: str) -> None:
    log = LogFolder(tmp_path / "orders")
    file = add("a.parquet", partitionValues=dict.fromkeys(columns, "a"))
    log.commit(0, [PROTOCOL, metadata(partitionColumns=columns), file])
    page = Page().open(log.root, view="layout")
    assert f"<small>{said}&nbsp;</small>" in page.html
    assert "1\N{EN DASH}1 of 1 partition<" in page.html


def test_partitions_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: saved.update({name: file.read().decode()})
    )
    page = Page().open(orders(tmp_path).root, view="layout")
    part = next(part for part in page.parts() if "Bytes by partition" in part.html)
    part._handle_msg({"action": "export", "value": ""})
    lines = saved["partitions-3.csv"].splitlines()
    assert lines[1].startswith("part=a,10,")
    assert lines[2].startswith("part=b,1,")


def test_where_nothing_can_be_put_together_nothing_would_be_written(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "alone")
    files = [add(f"{part}.parquet", partitionValues={"part": part}, size=500) for part in "ab"]
    log.commit(0, [PROTOCOL, metadata(partitionColumns=["part"]), *files])
    page = Page().open(log.root, view="layout").html
    assert "there is nothing to compact" in page
    assert ">0 files<" in page
    assert "and writes" not in page
    assert "500 B in 1 file," in page
