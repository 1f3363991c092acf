"""The figures of a small log by its actions, against those by columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
import explorer.inspect as look
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove, vector

_FIGURES = ("size_in_bytes", "num_rows", "num_deleted_rows", "num_deletion_vectors")
_STATISTICS = st.sampled_from(
    [
        None,
        "",
        "{}",
        '{"numRecords":5}',
        '{"numRecords":12,"minValues":{"id":1}}',
        '{"minValues":{"id":1},"numRecords":3}',
        '{"numRecords":-1}',
        '{"numRecords":05}',
        '{"numRecords":2.0}',
        '{"numRecords":"2"}',
        '{"numRecords":true}',
        '{"numRecords":9223372036854775808}',
        '{"numRecords":7',
        '{"numRecords":7}}',
        '[{"numRecords":7}]',
        '{"numRecords":4,"maxValues":{"id":NaN}}',
    ]
)
_VECTORS = st.sampled_from([None, 0, 2, 5, 100, -1, "nothing"])


def _body(size: int | None, stats: str | None, cardinality: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"size": size, "stats": stats}
    if cardinality is not None:
        said = None if cardinality == "nothing" else cardinality
        fields["deletionVector"] = vector(cardinality=said)
    return fields


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.one_of(st.integers(-5, 2**40), st.none()), _STATISTICS, _VECTORS),
        max_size=4,
    )
)
def test_actions_tell_what_columns_tell(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[int | None, str | None, Any]]
) -> None:
    folder = LogFolder(tmp_path_factory.mktemp("few"))
    actions = [add(f"f{at}", **_body(*file)) for at, file in enumerate(files)]
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), *actions, remove("gone")])

    def told(*, as_columns: bool) -> tuple[Any, ...]:
        table = explorer.open_table(folder.root)
        snapshot = table.snapshot()
        if as_columns:
            assert snapshot.files(["path"]).num_rows == len(files)
        found = [getattr(snapshot, name) for name in _FIGURES]
        return (found, snapshot.problems, look.describe(table))

    assert told(as_columns=False) == told(as_columns=True)


def test_a_small_table_is_described_without_arrow(tmp_path: Path) -> None:
    folder = LogFolder(tmp_path / "t")
    files = [
        add("a", size=3, stats='{"numRecords":4}', deletionVector=vector()),
        add("b", size=9, stats='{"numRecords":4}'),
        add("c", size=5, stats='{"numRecords":4}'),
    ]
    folder.commit(0, [FEATURE_PROTOCOL, metadata(), *files])
    folder.commit(1, [remove("c")])
    code = f"""
import sys
import explorer
import explorer.inspect as look
found = look.describe(explorer.open_table({str(folder.root)!r}))
assert (found["num_files"], found["num_rows"], found["num_deleted_rows"]) == (2, 6, 2), found
assert found["file_sizes"] == {{"smallest": 3, "median": 3, "largest": 9}}, found
brought = {{"pyarrow", "numpy", "pandas", "pyroaring"}} & set(sys.modules)
assert not brought, brought
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
