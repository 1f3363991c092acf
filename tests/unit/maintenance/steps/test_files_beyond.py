"""Files outside of a table's root, as shallow clones have them: those that are gone are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explorer.maintenance import Plan, plan_repair, plan_restore
from tests.tables import FEATURE_PROTOCOL, metadata, vector
from tests.unit.maintenance.lake import Lake, ms_ago, outcome, planned

STATS = '{"numRecords":5}'


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def source(lake: Lake, name: str) -> Path:
    """A file of the table that was cloned."""
    place = lake.root.parent / "the source" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"x" * 100)
    return place


def cloned(lake: Lake, *, prefix: str) -> tuple[list[Path], list[Any]]:
    """Two files at absolute paths, one with a vector at one."""
    places = [source(lake, name) for name in ("a%b.parquet", "b.parquet", "v.bin")]
    a, b, v = (prefix + str(place).replace("%", "%25").replace(" ", "%20") for place in places)
    adds: list[Any] = [lake.add("own.parquet", stats=STATS)]
    for path, fields in ((a, {}), (b, {"deletionVector": vector(v, storageType="p")})):
        body = {"path": path, "partitionValues": {}, "size": 100, "dataChange": True}
        adds.append({"add": {**body, "modificationTime": ms_ago(40), "stats": STATS, **fields}})
    return places, adds


def restored(lake: Lake) -> Plan:
    return plan_restore(lake.table, 0, clock=lake.clock)


@pytest.mark.parametrize("prefix", ["", "file://", "file:"])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_restore_is_refused_where_a_file_of_the_source_is_gone(
    lake: Lake, prefix: str, lost: int
) -> None:
    places, adds = cloned(lake, prefix=prefix)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), *adds], age_days=9)
    gone = [
        {
            "remove": {
                "path": each["add"]["path"],
                "deletionTimestamp": ms_ago(5),
                "dataChange": True,
                **_vector(each),
            }
        }
        for each in adds[1:]
    ]
    lake.commit(1, gone, age_days=5)
    assert outcome(restored(lake), "files") == "allow"
    places[lost].unlink()
    assert outcome(restored(lake), "files") == "refuse"


def _vector(action: Any) -> dict[str, Any]:
    found = action["add"].get("deletionVector")
    return {} if found is None else {"deletionVector": found}


@pytest.mark.parametrize("prefix", ["", "file://"])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_repair_takes_out_what_lacks_a_file_of_the_source(
    lake: Lake, prefix: str, lost: int
) -> None:
    places, adds = cloned(lake, prefix=prefix)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), *adds], age_days=9)
    assert plan_repair(lake.table, "files", clock=lake.clock).steps == ()
    places[lost].unlink()
    plan = plan_repair(lake.table, "files", clock=lake.clock)
    assert set(planned(plan, "remove")) == {adds[1 if lost == 0 else 2]["add"]["path"]}
    assert lake.execute(plan).status == "completed"
    assert lake.table.snapshot().num_files == 2


@pytest.mark.parametrize(
    "path",
    [
        "s3://elsewhere/a.parquet",
        "file://host/a.parquet",
        "file:relative",
        "/%FF",
        "/a%00b",
        "/" + "a/" * 3000,
        "/" + "a" * 300,
    ],
    ids=["store", "host", "relative", "no text", "nul", "long", "long name"],
)
def test_file_that_cannot_be_asked_for_stops_no_plan(lake: Lake, path: str) -> None:
    body = {"path": path, "partitionValues": {}, "size": 1}
    add = {"add": {**body, "modificationTime": 1, "dataChange": True, "stats": STATS}}
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), add], age_days=9)
    assert plan_repair(lake.table, "files", clock=lake.clock).steps == ()
