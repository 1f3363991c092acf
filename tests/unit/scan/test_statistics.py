"""Statistics as columns: from JSON and from a checkpoint's struct, against another reader."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

import explorer
from explorer.errors import InvalidArgumentError
from explorer.log.state import FileColumns
from explorer.scan.column_statistics import parsed_leaves, read_facts, statistics_columns
from explorer.scan.statistics import parsed_statistics
from tests.tables import COLUMNS, PROTOCOL, LogFolder, add, metadata, write_parquet

PEERS = [
    "dat-all_primitive_types",
    "dat-stats_as_struct",
    "deltars-checkpoint-v2-table",
    "deltars-table_with_edge_timestamps",
    "golden-basic-with-inserts-merge",
    "golden-multi-part-checkpoint",
    "kernel-v2-json-sidecars-struct-stats-only",
    "spark44-clustering",
    "spark44-streaming-transactions",
]


@pytest.mark.rule("file-add-stats-json-string", "stats-mirror-schema", "stats-numrecords")
@pytest.mark.parametrize("name", PEERS)
def test_values_are_those_of_another_reader(corpus: Path, name: str) -> None:
    place = corpus / "tables" / name
    ours = parsed_statistics(explorer.open_table(place).snapshot())
    theirs = pa.table(DeltaTable(str(place)).get_add_actions(flatten=True))
    assert ours.num_rows == theirs.num_rows > 0
    order = {path: at for at, path in enumerate(theirs.column("path").to_pylist())}
    theirs = theirs.take([order[path] for path in ours.column("path").to_pylist()])
    shared = [column for column in ours.column_names if column in theirs.column_names]
    assert len(shared) >= 5
    for column in shared:
        expected = pc.cast(theirs.column(column), ours.column(column).type, safe=False)
        assert ours.column(column).to_pylist() == expected.to_pylist(), column


BOTH = [
    "deltars-checkpoint-v2-table",
    "deltars-table_failed_last_checkpoint_update",
    "spark44-cdf-all-operations",
    "spark44-log-compaction",
    "spark44-type-widening",
    "spark44-v2-checkpoint-sidecars",
]


@pytest.mark.rule("checkpoint-schema-stats-parsed")
@pytest.mark.parametrize("name", BOTH)
def test_struct_and_json_of_a_checkpoint_say_the_same(corpus: Path, name: str) -> None:
    snapshot = explorer.open_table(corpus / "tables" / name).snapshot()
    columns = statistics_columns(snapshot)

    def read(files: FileColumns) -> tuple[int, object, object]:
        plain = FileColumns(table=files.table, leaves={})
        both = [read_facts(found, columns) for found in (files, plain)]
        texts = [
            {path: [facts.minimum, facts.maximum, facts.null_count] for path, facts in item}
            for item in (found.columns.items() for found in both)
        ]
        return len(files.leaves), texts[0], texts[1]

    found = snapshot.over_files(
        lambda state: list(state.reduce_files(["path", "stats"], parsed_leaves(columns), read))
    )
    assert any(leaves for leaves, _, _ in found)
    for _, struct, text in found:
        assert struct == text


def test_only_the_columns_that_are_named_are_read(corpus: Path) -> None:
    snapshot = explorer.open_table(corpus / "tables" / "spark44-clustering").snapshot()
    found = parsed_statistics(snapshot, ["s.d"])
    assert found.to_pylist()[0].keys() == {
        "path",
        "num_records",
        "min.s.d",
        "max.s.d",
        "null_count.s.d",
    }
    with pytest.raises(InvalidArgumentError, match="nope"):
        parsed_statistics(snapshot, ["nope"])


@pytest.mark.rule("checkpoint-schema-stats-parsed")
def test_statistics_of_a_checkpoint_beyond_the_year_2262_are_kept(corpus: Path) -> None:
    # as nanoseconds, which a checkpoint's timestamps once were, the year 9999 is 1816
    place = corpus / "tables" / "deltars-table_with_edge_timestamps"
    found = parsed_statistics(explorer.open_table(place).snapshot(), ["BIG_DATE"])
    assert {value.year for value in found.column("max.BIG_DATE").to_pylist()} == {9999}


def test_a_count_of_rows_beyond_63_bits_is_no_count(tmp_path: Path) -> None:
    statistics = pa.struct([("numRecords", pa.uint64())])
    fields = [*COLUMNS["add"], pa.field("stats_parsed", statistics)]
    actions = [
        PROTOCOL,
        metadata(),
        add("a.parquet", stats_parsed={"numRecords": 2**64 - 1}),
        add("b.parquet", stats_parsed={"numRecords": 7}),
    ]
    folder = LogFolder(tmp_path / "t")
    place = folder.log / f"{0:020}.checkpoint.parquet"
    write_parquet(place, actions, columns=COLUMNS | {"add": pa.struct(fields)})
    snapshot = explorer.open_table(folder.root).snapshot()
    assert snapshot.num_rows is None
    plan = explorer.plan_scan(snapshot, "id = 1")
    assert dict(
        zip(*plan.kept.select(["path", "num_records"]).to_pydict().values(), strict=True)
    ) == {
        "a.parquet": None,
        "b.parquet": 7,
    }
