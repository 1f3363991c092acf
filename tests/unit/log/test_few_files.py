"""Figures of a small log by its actions: what is known, and what nobody said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import explorer
from tests.tables import PROTOCOL, LogFolder, add, metadata

THREE = json.dumps({"numRecords": 3})


@pytest.mark.parametrize(
    ("stats", "rows", "is_arrow_loaded"),
    [([THREE, THREE], 6, False), ([THREE, None], None, False), ([THREE, "{"], None, True)],
)
def test_rows_that_some_file_does_not_tell_are_unknown_without_arrow(
    tmp_path: Path, stats: list[str | None], rows: int | None, is_arrow_loaded: bool
) -> None:
    log = LogFolder(tmp_path / "t")
    files = [
        add(f"{at}.parquet", size=10, **({} if text is None else {"stats": text}))
        for at, text in enumerate(stats)
    ]
    log.commit(0, [PROTOCOL, metadata(), *files])
    assert explorer.open_table(str(log.root)).snapshot().num_rows == rows
    asked = (
        "import sys, explorer; explorer.open_table(sys.argv[1]).snapshot().num_rows; "
        "print('pyarrow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked, str(log.root)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(is_arrow_loaded)
