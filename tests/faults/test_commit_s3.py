"""Writers in processes of their own, on an S3-compatible server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

import explorer
from explorer.storage.open import open_write_store
from tests.faults.racing_processes import create_table, race
from tests.s3_server import s3_server


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, Any]]:
    with s3_server() as options:
        yield options


@pytest.mark.rule("log-atomic-primitives", "log-never-overwrite", "log-versions-contiguous")
def test_processes_that_commit_side_by_side_on_s3_lose_nothing(s3: dict[str, Any]) -> None:
    uri = f"s3://bucket/{uuid4().hex}"
    create_table(open_write_store(uri, s3))
    race(uri, processes=4, commits=10, options=s3)
    assert explorer.open_table(uri, s3).snapshot().num_files == 40
