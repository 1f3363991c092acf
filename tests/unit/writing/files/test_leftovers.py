"""What of a statement is found and removed when it ended early."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from explorer.storage.local import LocalStore
from explorer.writing.files.leftovers import remove_files_of, vector_id

STATEMENT = UUID("12345678-1234-4234-8234-123456789abc")
OTHER = UUID("22345678-1234-4234-8234-123456789abc")


@pytest.mark.slow
def test_a_statement_s_vectors_go_with_its_files_and_those_of_others_stay(tmp_path: Path) -> None:
    own = {f"deletion_vector_{vector_id(STATEMENT, number)}.bin" for number in range(3)}
    own |= {f"ab/deletion_vector_{vector_id(STATEMENT, 3)}.bin"}
    own |= {f"part-00000-{STATEMENT}-0.c000.parquet", f"_change_data/cdc-{STATEMENT}.parquet"}
    others = {f"deletion_vector_{vector_id(OTHER, 0)}.bin", f"part-00000-{OTHER}-0.c000.parquet"}
    for path in (*own, *others, f"_delta_log/{STATEMENT}.json"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    removed = remove_files_of(LocalStore(str(tmp_path)), STATEMENT)
    assert removed.num_removed == len(own)
    assert (removed.left, removed.unlisted) == ((), ())
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {*others, f"_delta_log/{STATEMENT}.json"}
