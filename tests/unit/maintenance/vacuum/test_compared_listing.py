"""What a listing lacks, by the few names that the first way to the kept files leaves, held
against a look-up of every name."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.files.events import ADD, CHANGE, EVENTS, REMOVE, FileEvents
from explorer.files.listed import ListedFiles
from explorer.files.name_index import NameIndex
from explorer.files.reachable import lacking_files
from explorer.files.unkept import rows_kept_by_commits
from explorer.maintenance.vacuum._vacuum_files import compare_listing, events_missing_files
from tests.unit.maintenance.lake import Lake, planned, start, vacuum

_PATHS = ["a", "b", "c%20d", "e", "/root/f", "/other/g", "/root/a"]
_NAMES = ["a", "b", "c d", "e", "f", "g", "v.bin", "w.bin", "c%20d"]
_VECTORS = [
    None,
    {"storage_type": "p", "path_or_inline_dv": "/root/v.bin"},
    {"storage_type": "p", "path_or_inline_dv": "/other/w.bin"},
    {"storage_type": "i", "path_or_inline_dv": "x"},
]
_rows = st.lists(
    st.fixed_dictionaries(
        {
            "version": st.just(0),
            "kind": st.sampled_from([ADD, ADD, REMOVE, CHANGE]),
            "path": st.sampled_from(_PATHS),
            "deletion_vector": st.sampled_from(_VECTORS),
            "time": st.sampled_from([None, 0, 10]),
        }
    ),
    max_size=12,
)


def _column(names: list[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(names, pa.string())])


@pytest.mark.slow
@given(rows=_rows, listed=st.sets(st.sampled_from(_NAMES)), data=st.data())
def test_events_lack_files_as_if_each_were_looked_for(
    rows: list[dict[str, object]], listed: set[str], data: st.DataObject
) -> None:
    events = FileEvents(first=0, last=0, table=pa.Table.from_pylist(rows, EVENTS), root="/root")
    kept_rows = rows_kept_by_commits(events, 5)
    kept = events.places(kept_rows).inside.to_pylist()
    # the first way knows some of them, and others that the commits do not
    first = [name for name in kept if data.draw(st.booleans())]
    further = sorted(set(kept) - set(first))
    first += data.draw(st.lists(st.sampled_from(_NAMES)))
    further = [name for name in further if name not in first]
    files = ListedFiles(
        paths=_column(sorted(listed)), sizes=None, modified_ms=None, others=(), folders=1
    )
    found = compare_listing(files, NameIndex(_column(first)))
    assert set(found.rest.paths.to_pylist()) == listed - set(first)
    assert set(found.gone.to_pylist()) == set(first) - listed
    wanted = np.logical_or(*lacking_files(events, files.paths))
    lacking = events_missing_files(events, kept_rows, _column(further), found)
    assert lacking.tolist() == wanted.tolist()


def test_version_whose_files_are_gone_already_is_none_that_the_plan_makes_unreadable(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    start(lake, lake.add("old"), lake.add("older"))
    lake.commit(1, [lake.remove("old", age_days=30), lake.add("live")], age_days=30)
    lake.commit(2, [lake.remove("older", age_days=20)], age_days=20)
    before = vacuum(lake)
    assert [(lost["first"], lost["last"]) for lost in before.effect["unreadable_versions"]] == [
        (0, 1)
    ]
    (lake.root / "old").unlink()
    after = vacuum(lake)
    assert list(planned(after)) == ["older"]
    assert [(lost["first"], lost["last"]) for lost in after.effect["unreadable_versions"]] == [
        (1, 1)
    ]
    (lake.root / "live").unlink()
    assert vacuum(lake).effect["unreadable_versions"] == []


def test_names_of_any_characters_are_kept_by_their_paths_and_go_as_strays(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    live = ["p=%0A/two%0Alines.parquet", "p=%F0%9F%98%80/ж.parquet", "x%22%5C%09.parquet"]
    start(lake, *(lake.add(path) for path in live))
    strays = ["p=\n/two\n.parquet", "p=😀/ж2.parquet", 'x"\\.parquet']
    for path in strays:
        lake.file(path)
    no_text = Path(os.fsdecode(os.fsencode(lake.root) + b"/p=\n/two\nlines.parquet\xff"))
    no_text.write_bytes(b"x")
    os.utime(no_text, (0, 0))
    plan = vacuum(lake)
    assert sorted(planned(plan)) == sorted(strays)
    assert list(planned(plan, "leave")) == ["p=\n/two\nlines.parquet\ufffd"]
    assert lake.execute(plan).status == "completed"
    assert no_text.exists()
    assert [lake.there(unquote(path)) for path in live] == [True] * 3
    assert not any(map(lake.there, strays))


def test_link_at_the_place_of_a_live_file_is_left_and_counts_as_none(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    start(lake, lake.add("old.parquet"), lake.add("live.parquet"))
    lake.commit(1, [lake.remove("old.parquet", age_days=9)], age_days=9)
    (lake.root / "live.parquet").rename(tmp_path / "elsewhere")
    (lake.root / "live.parquet").symlink_to(tmp_path / "elsewhere")
    plan = vacuum(lake)
    assert list(planned(plan)) == ["old.parquet"]
    assert "live.parquet" in planned(plan, "leave")
    # nobody can say where a link leads tomorrow
    assert plan.effect["unreadable_versions"] == []
