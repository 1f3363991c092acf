"""Real tables: whoever wrote them, their files could be committed again as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.transaction.read_set import read_set_of
from explorer.transaction.read_version import read_version_of
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import Promises, Provenance, StagedCommit
from tests.corpus import READABLE, place_table, table_name

_COLUMNS = (
    "path",
    "size",
    "partition_values",
    "modification_time",
    "stats",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
    "tags",
    "clustering_provider",
)
# features that cannot be written here
_REFUSED = {
    "deltars-table_with_liquid_clustering": "`liquid`",
    "golden-collations-table": "`collations`",
    "kernel-table-with-geo": "`geospatial`",
}


@pytest.mark.slow
@pytest.mark.rule("feature-writer-all", "newer-unknown-blocks")
@pytest.mark.parametrize("expected", READABLE, ids=table_name)
def test_the_rules_refuse_no_table_that_keeps_them(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    snapshot = explorer.open_table(place_table(expected, tmp_path)).snapshot()
    files = snapshot.physical_files("add", _COLUMNS)
    still = pa.chunked_array([pa.array([False] * files.num_rows, pa.bool_())])
    staged = StagedCommit(
        base=read_version_of(snapshot),
        reads=read_set_of(files.column("path")),
        provenance=Provenance(operation="TEST", transaction_id="t", engine_info="test"),
        adds=tuple(files.append_column("data_change", still).to_batches()),
        promises=Promises(recommits=True),
    )
    found = [problem.problem for problem in validate_commit(staged)]
    refused = _REFUSED.get(expected["name"])
    if refused is None:
        assert found == []
    else:
        (told,) = found
        assert refused in told
