"""Writers in processes of their own on object stores, while another one maintains the table.

`DELTA_EXPLORER_STORE_WRITERS` and `DELTA_EXPLORER_STORE_COMMITS` say how many processes commit
how often; CI has fewer than the 8 and 100 that are run by hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from explorer.storage.open import open_write_store
from tests.azure_server import azure_server
from tests.faults.racing_processes import create_table, race
from tests.gcs_server import gcs_server
from tests.s3_server import s3_server
from tests.sampling import unless_asked

WRITERS = int(os.environ.get("DELTA_EXPLORER_STORE_WRITERS", "4"))
COMMITS = int(os.environ.get("DELTA_EXPLORER_STORE_COMMITS", "10"))
_Server = Callable[[], AbstractContextManager[dict[str, Any]]]
SERVERS: dict[str, _Server] = {"s3": s3_server, "az": azure_server, "gs": gcs_server}


@pytest.fixture(scope="module", params=SERVERS)
def store(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, Any]]]:
    with SERVERS[request.param]() as options:
        yield f"{request.param}://bucket/{uuid4().hex}", options


@pytest.mark.sampled(one_in=unless_asked("DELTA_EXPLORER_STORE_COMMITS", 3))
@pytest.mark.rule("log-atomic-primitives", "log-never-overwrite", "log-versions-contiguous")
def test_processes_that_commit_side_by_side_on_a_store_lose_nothing(
    store: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    uri, options = store
    create_table(open_write_store(uri, options))
    upkeep = race(uri, WRITERS, COMMITS, options, state=tmp_path)
    assert upkeep.outcomes.get("checkpoint completed"), upkeep
