"""The rows of every table of the corpus, at every version, against its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.rows.read import plan_rows, preview, read_rows
from tests.corpus import READABLE, REFUSED, shared_table, table_name
from tests.row_values import column_figures, counted_rows

_WITH_ROWS = [table for table in READABLE if table.get("data_files") != "absent"]
_WITHOUT = [table for table in READABLE if table.get("data_files") == "absent"]
_ROW_IDS = ("_row_id", "_row_commit_version")


_SHIPPED = [
    pytest.param(table, label, folder, id=f"{table_name(table)}-{label}")
    for table in _WITH_ROWS
    for label, folder in table.get("expected", {}).items()
    if label != "changes"
]


def _rows_of(folder: Path) -> pa.Table:
    return pa.concat_tables(
        pq.read_table(part, coerce_int96_timestamp_unit="us", partitioning=None)
        for part in sorted(folder.rglob("*.parquet"))
    )


def _as_shipped(name: str, rows: pa.Table) -> pa.Table:
    """Two tables were shipped with rows that say the same in another form."""
    if name == "golden-data-reader-partition-values":
        # written by a session in California, which took partition values for its own time;
        # the manifest takes them for UTC
        at = rows.column_names.index("as_timestamp")
        local = rows.column(at).cast(pa.timestamp("us"))
        return rows.set_column(at, "as_timestamp", pc.assume_timezone(local, "America/Los_Angeles"))
    if name == "spark44-variant-plain":
        # a struct with a variant inside was shipped as one JSON text
        at = rows.column_names.index("s")
        texts = [f'{{"w":{value["w"]}}}' for value in rows.column(at).to_pylist()]
        return rows.set_column(at, "s", pa.array(texts))
    return rows


def test_no_table_is_left_out() -> None:
    assert len(_WITH_ROWS) == 117
    assert len(_WITHOUT) == 7
    assert all(table["num_rows_live"] is not None for table in _WITH_ROWS)
    assert not [table for table in REFUSED if table["error_stage"] != "snapshot"]
    assert len(_SHIPPED) == 64


@pytest.mark.rule("dv-rows-not-returned", "dv-storage-kinds", "file-add-path-uri-decoded")
@pytest.mark.rule("log-data-files-location", "log-data-files-partition-values-from-log")
@pytest.mark.rule("log-missing-columns", "log-one-snapshot", "mapping-id-field-id")
@pytest.mark.rule("mapping-name-physical", "newer-void-no-feature", "newer-widening-convert-old")
@pytest.mark.rule("schema-type-void")
@pytest.mark.parametrize("expected", _WITH_ROWS, ids=table_name)
def test_figures_of_the_latest_rows_equal_the_manifest(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    snapshot = explorer.open_table(shared_table(expected, tmp_path)).snapshot()
    rows = read_rows(snapshot)
    rows.validate(full=True)
    assert rows.num_rows == expected["num_rows_live"]
    assert rows.column_names == list(snapshot.schema.names)
    for name, figures in expected["checks"].items():
        found = column_figures(rows.column(name))
        assert {key: found[key] for key in figures} == {
            key: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            for key, value in figures.items()
        }, name


@pytest.mark.rule("checkpoint-time-travel-not-newer", "dv-rows-not-returned")
@pytest.mark.rule("log-apply-to-previous")
@pytest.mark.parametrize("expected", _WITH_ROWS, ids=table_name)
def test_every_version_has_as_many_rows_as_the_manifest_says(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    table = explorer.open_table(shared_table(expected, tmp_path))
    for version in expected["history"]:
        snapshot = table.snapshot(version=version["version"])
        wanted = version["num_rows_live"]
        if wanted is not None:
            assert read_rows(snapshot).num_rows == wanted, version
        elif (expected["name"], snapshot.version) == ("kernel-cdf-table-with-dv", 5):
            # its inline vector is padded beyond the specification; who reads it finds nine rows
            assert read_rows(snapshot).num_rows == 9
        else:
            with pytest.raises(explorer.DeltaError) as refusal:
                read_rows(snapshot)
            assert refusal.value.kind == "data_missing"


@pytest.mark.rule("dv-rows-not-returned", "newer-variant-struct", "newer-widening-convert-old")
@pytest.mark.rule("row-read-default-id", "row-read-materialized-id", "row-stable-id")
@pytest.mark.parametrize(("expected", "label", "folder"), _SHIPPED)
def test_rows_equal_those_shipped_with_the_table(
    expected: dict[str, Any], label: str, folder: str, tmp_path: Path, corpus: Path
) -> None:
    table = explorer.open_table(shared_table(expected, tmp_path))
    version = int(label[1:]) if label[1:].isdigit() else None
    wanted = _rows_of(corpus / folder)
    extra = _ROW_IDS if label == "row_ids" else ()
    found = read_rows(table.snapshot(version=version), metadata_columns=extra)
    assert sorted(found.column_names) == sorted(wanted.column_names)
    found = _as_shipped(table_name(expected), found)
    assert counted_rows(found, wanted.column_names) == counted_rows(wanted)


@pytest.mark.rule("row-read-default-commit-version", "row-read-default-id")
@pytest.mark.rule("row-read-materialized-commit-version", "row-read-materialized-id")
@pytest.mark.rule("row-stable-commit-version", "row-stable-id")
@pytest.mark.parametrize("expected", [t for t in _WITH_ROWS if "row_ids" in t], ids=table_name)
def test_row_ids_have_the_figures_of_the_manifest(expected: dict[str, Any]) -> None:
    snapshot = explorer.open_table(shared_table(expected, Path())).snapshot()
    rows = read_rows(snapshot, columns=[], metadata_columns=_ROW_IDS)
    found = column_figures(rows.column("_row_id"))
    versions = column_figures(rows.column("_row_commit_version"))
    assert {key: found[key] for key in ("min", "max", "sum")} | {
        "sum_of_commit_versions": versions["sum"]
    } == expected["row_ids"]


@pytest.mark.parametrize("expected", _WITHOUT, ids=table_name)
def test_rows_of_a_table_without_its_files_are_refused(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    snapshot = explorer.open_table(shared_table(expected, tmp_path)).snapshot()
    assert plan_rows(snapshot).files.num_rows == expected["num_active_files"]
    if not snapshot.num_files:
        assert read_rows(snapshot).num_rows == 0
        return
    with pytest.raises(explorer.DeltaError) as refusal:
        preview(snapshot)
    assert refusal.value.kind == "data_missing"
    # the file of the deletion vector comes first
    named = f"of version {snapshot.version} does not exist"
    assert snapshot.num_deletion_vectors or named in refusal.value.problem
