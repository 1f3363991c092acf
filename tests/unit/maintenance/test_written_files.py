"""Where the files lie that an optimize writes, and how their actions name them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.maintenance import Approval, execute, plan_optimize
from tests.data_tables import DataTable, field, struct
from tests.row_values import counted_rows
from tests.tables import LogFolder, add, metadata, write_parquet


def optimize(place: Path, scratch: Path) -> dict[str, list[dict[str, Any]]]:
    """Optimize a table; the adds and removes of the commit, as they stand in the log."""
    plan = plan_optimize(explorer.open_table(place))
    assert not plan.refusals
    receipt = execute(plan, Approval(plan.digest), state_dir=scratch / "state")
    assert receipt.status == "completed", receipt.problem
    found: dict[str, list[dict[str, Any]]] = {"add": [], "remove": []}
    for line in (place / "_delta_log" / f"{1:020}.json").read_text().splitlines():
        for kind, body in json.loads(line).items():
            found.setdefault(kind, []).append(body)
    return found


def partitioned(root: Path, column: str, value: str | None, folder: str) -> Path:
    """Two small files of one partition, in a folder of that name on disk."""
    schema = struct(field("id", "long"), field(column, "string"))
    table = DataTable(root, schema, partitionColumns=[column])
    for number in range(2):
        rows = pa.table({"id": pa.array([number, number + 10], pa.int64())})
        path = f"{folder}/{number} +.parquet"
        (root / folder).mkdir(exist_ok=True)
        pq.write_table(rows, root / path)
        table.add(quote(path), partitionValues={column: value})
    return table.write()


def rows_of(place: Path) -> Any:
    return counted_rows(explorer.read_rows(explorer.open_table(place).snapshot()))


@pytest.mark.rule("file-add-path-uri-decoded", "file-remove-path-uri-decoded")
@pytest.mark.rule("file-datachange-false")
@pytest.mark.parametrize("value", ["a b", "100%", "a/b", "ä", "%41", "a?b#c", "+"])
def test_paths_in_the_log_are_encoded_and_lead_to_the_files_once_they_are_decoded(
    value: str, tmp_path: Path
) -> None:
    place = partitioned(tmp_path / "t", "part", value, "old files %20")
    before = rows_of(place)
    actions = optimize(place, tmp_path)
    (new,) = actions["add"]
    assert (place / unquote(new["path"])).stat().st_size == new["size"]
    assert new["path"] == quote(unquote(new["path"]), safe="/=+,:@&$!*'();~")
    assert new["partitionValues"] == {"part": value}
    gone = [body["path"] for body in actions["remove"]]
    assert sorted(gone) == [quote(f"old files %20/{number} +.parquet") for number in range(2)]
    assert {body["dataChange"] for body in [new, *actions["remove"]]} == {False}
    snapshot = explorer.open_table(place).snapshot()
    assert (snapshot.num_files, snapshot.num_tombstones) == (1, 2)
    assert rows_of(place) == before


@pytest.mark.rule("log-data-files-location")
@pytest.mark.parametrize("column", ["_part", ".part", "part"])
def test_new_files_lie_in_no_hidden_folder(column: str, tmp_path: Path) -> None:
    place = partitioned(tmp_path / "t", column, "x", f"{column}=x")
    before = rows_of(place)
    (new,) = optimize(place, tmp_path)["add"]
    folders = Path(unquote(new["path"])).parent.parts
    assert folders
    assert not [name for name in folders if name.startswith(("_", "."))]
    assert (folders == (f"{column}=x",)) is (column == "part")
    assert rows_of(place) == before


@pytest.mark.rule("clustering-provider", "file-add-clusteringprovider")
@pytest.mark.parametrize("clusters", [True, False], ids=["clustered", "not clustered"])
def test_files_that_were_clustered_say_by_whom_and_others_nothing(
    tmp_path: Path, *, clusters: bool
) -> None:
    log = LogFolder(tmp_path / "t")
    features = ["clustering", "domainMetadata"]
    domain = {
        "domain": "delta.clustering",
        "configuration": json.dumps({"clusteringColumns": [["id"]] if clusters else []}),
        "removed": False,
    }
    actions: list[Any] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}},
        metadata(schemaString=json.dumps(struct(field("id", "long")))),
        {"domainMetadata": domain},
    ]
    bounds = {"minValues": {"id": 1}, "maxValues": {"id": 1}, "nullCount": {"id": 0}}
    for name in ("a", "b"):
        write_parquet(log.root / name, [{"id": 1}], columns={"id": pa.int64()})
        actions.append(add(name, stats=json.dumps({"numRecords": 1, **bounds})))
    log.commit(0, actions)
    (new,) = optimize(log.root, tmp_path)["add"]
    assert new.get("clusteringProvider") == ("delta-explorer" if clusters else None)
