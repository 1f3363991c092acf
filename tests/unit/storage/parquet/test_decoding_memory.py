"""The pool that columns are decoded into."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from explorer.storage.parquet import decoding_memory as memory
from explorer.storage.parquet.decoding_memory import release_memory
from tests.tables import PROTOCOL, LogFolder, add, metadata

_ASKED = """
from explorer.storage.parquet.decoding_memory import decoding_pool
print(decoding_pool().backend_name)
"""

_READ = """
import sys
import pyarrow
import explorer
assert explorer.open_table(sys.argv[1]).snapshot().files(["size"]).num_rows == 1000
print(pyarrow.jemalloc_memory_pool().max_memory())
"""

_needs_both = pytest.mark.skipif(
    not {"mimalloc", "jemalloc"} <= {*pa.supported_memory_backends()},
    reason="pyarrow was built with one of them at most",
)


def _say(code: str, *arguments: str, chosen: str | None = None) -> str:
    """What a new process prints; in this one others have used the pools."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ARROW_")}
    if chosen is not None:
        env["ARROW_DEFAULT_MEMORY_POOL"] = chosen
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, check=True
    ).stdout.strip()


@_needs_both
def test_what_arrow_would_choose_by_itself_is_replaced() -> None:
    assert _say(_ASKED) == "jemalloc"


@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["system", "mimalloc"])
def test_whoever_chose_a_pool_for_the_process_has_it(chosen: str) -> None:
    if chosen in pa.supported_memory_backends():
        assert _say(_ASKED, chosen=chosen) == chosen


@pytest.mark.slow
@_needs_both
def test_a_checkpoint_is_decoded_into_it(tmp_path: Path) -> None:
    log = LogFolder(tmp_path)
    log.checkpoint(0, [PROTOCOL, metadata(), *(add(f"f{at}") for at in range(1000))])
    assert int(_say(_READ, str(log.root))) >= 1000 * 8


def test_all_pools_that_are_used_give_back_what_they_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back: list[str] = []

    def pool(name: str) -> SimpleNamespace:
        return SimpleNamespace(release_unused=lambda: given_back.append(name))

    monkeypatch.setattr(memory, "decoding_pool", lambda: pool("decoding"))
    monkeypatch.setattr(memory.pa, "default_memory_pool", lambda: pool("default"))
    release_memory()
    assert given_back == ["default", "decoding"]
