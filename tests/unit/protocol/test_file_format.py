"""Tables whose data files are not Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import UnsupportedError
from explorer.protocol.actions import Metadata
from explorer.protocol.file_format import check_rows_readable, validate_format
from tests.tables import PROTOCOL, LogFolder, add, metadata


@pytest.mark.rule("metadata-format-provider")
@pytest.mark.parametrize("provider", ["parquet", "Parquet", "PARQUET"])
def test_parquet_is_no_problem_in_any_case(provider: str) -> None:
    found = Metadata(id="m", format_provider=provider)
    assert validate_format(found) == []
    check_rows_readable(found)


@pytest.mark.rule("metadata-format", "metadata-format-parquet-only", "metadata-format-provider")
@pytest.mark.rule("older-003-format-providers")
@pytest.mark.parametrize("provider", ["orc", "delta", "parquet2", "x" * 5000])
def test_other_format_is_shown_and_its_rows_are_refused(provider: str, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    form = {"provider": provider, "options": {"k": "v"}}
    log.commit(0, [PROTOCOL, metadata(format=form), add("a")])
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.num_files == 1
    (problem,) = snapshot.problems
    assert provider[:5] in problem.problem
    found = look.describe(explorer.open_table(log.root))
    assert found["metadata"]["format"] == provider
    assert [told["kind"] for told in found["problems"]] == ["unsupported_feature"]
    with pytest.raises(UnsupportedError) as caught:
        check_rows_readable(snapshot.metadata)
    assert provider[:5] in caught.value.problem
    assert len(str(caught.value)) < 1000


def test_metadata_without_a_format_is_parquet(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(format=None)])
    check_rows_readable(explorer.open_table(log.root).snapshot().metadata)
