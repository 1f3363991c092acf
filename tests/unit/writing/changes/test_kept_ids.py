"""Row ids through one statement after another: see `tests/interop/situations`."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from explorer import pipeline
from tests.changed_tables import FORMS, ids_of, make_table, rows_from

_TRACKED = [
    name for name, (properties, _) in FORMS.items() if "enableRowTracking" in str(properties)
]


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("form", _TRACKED)
def test_ids_stay_through_statement_after_statement(tmp_path: Path, form: str) -> None:
    make_table(tmp_path, form)
    known = {key: row_id for key, (row_id, _) in ids_of(tmp_path).items()}
    given = set(known.values())
    chance = Random(form)
    for number in range(8):
        first = chance.randrange(36)
        keys = f"key >= {first} AND key < {first + 9}"
        match number % 4:
            case 0:
                pipeline.update(tmp_path, {"n": "7", "land": "'moved'"}, keys)
            case 1:
                pipeline.delete(tmp_path, f"key IN ({first}, {first + 1})")
            case 2:
                merging = pipeline.merge(tmp_path, rows_from(first, 9), "target.key = source.key")
                merging.when_matched_update_all().when_not_matched_insert_all().execute()
            case _:
                pipeline.write(rows_from(100 + number, 1), tmp_path)
        now = {key: row_id for key, (row_id, _) in ids_of(tmp_path).items()}
        stayed = now.keys() & known.keys()
        assert {key: now[key] for key in stayed} == {key: known[key] for key in stayed}
        new = {now[key] for key in now.keys() - known.keys()}
        assert not new & given, "an id is never given twice"
        assert len(set(now.values())) == len(now)
        known, given = now, given | new


def test_rows_after_a_delete_of_everything_have_new_ids(tmp_path: Path) -> None:
    make_table(tmp_path, "ids-vectors")
    before = {row_id for row_id, _ in ids_of(tmp_path).values()}
    pipeline.delete(tmp_path)
    pipeline.write(pa.table({"key": [1, 2]}), tmp_path)
    after = {row_id for row_id, _ in ids_of(tmp_path).values()}
    assert len(after) == 2
    assert min(after) > max(before)
