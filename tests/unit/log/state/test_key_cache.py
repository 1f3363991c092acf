"""What is kept of checkpoints between two looks is bounded."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from explorer.log.checkpoint.parquet_part import ParquetPart, open_part
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.folder.listing import CheckpointFiles
from explorer.log.reconcile.key_columns import GroupKeys
from explorer.log.reconcile.tail import EMPTY_TAIL
from explorer.log.state.key_cache import KeyCache
from explorer.log.state.reconciled_files import LogState
from explorer.storage.open import open_read_store
from tests.tables import PROTOCOL, LogFolder, add, metadata


def _part(root: Path) -> ParquetPart:
    log = LogFolder(root)
    log.checkpoint(0, [PROTOCOL, metadata(), add("a")])
    return open_part(open_read_store(root), f"_delta_log/{0:020}.checkpoint.parquet")


def _keys(characters: int) -> GroupKeys:
    paths = pa.chunked_array([pa.array(["x" * characters])])
    return GroupKeys(paths=paths, plain=paths)


def test_least_recently_used_keys_go_first(tmp_path: Path) -> None:
    part, one = _part(tmp_path / "t"), _keys(1000)
    cache = KeyCache(3 * one.nbytes)
    for group in range(3):
        cache.put(part, group, "add", one)
    assert cache.get(part, 0, "add") is one
    cache.put(part, 3, "add", one)
    assert cache.get(part, 1, "add") is None
    assert all(cache.get(part, group, "add") is one for group in (0, 2, 3))


def test_keys_larger_than_the_cache_push_nothing_out(tmp_path: Path) -> None:
    part, one = _part(tmp_path / "t"), _keys(1000)
    cache = KeyCache(one.nbytes)
    cache.put(part, 0, "add", one)
    cache.put(part, 1, "add", _keys(5000))
    assert cache.get(part, 0, "add") is one
    assert cache.get(part, 1, "add") is None


def test_keys_of_parts_actions_and_groups_are_told_apart(tmp_path: Path) -> None:
    first, second = _part(tmp_path / "1"), _part(tmp_path / "2")
    cache = KeyCache(10**6)
    cache.put(first, 0, "add", one := _keys(1))
    cache.put(first, 0, "add", _keys(2))  # held already: what was seen first stays
    assert cache.get(first, 0, "add") is one
    assert cache.get(second, 0, "add") is None
    assert cache.get(first, 0, "remove") is None
    assert cache.get(first, 1, "add") is None


def test_keys_that_are_nothing_but_paths_are_held_once(tmp_path: Path) -> None:
    log = LogFolder(tmp_path)
    log.checkpoint(0, [PROTOCOL, metadata(), *(add(f"{number:0100}") for number in range(1000))])
    store, cache = open_read_store(tmp_path), KeyCache(10**7)
    files = CheckpointFiles(version=0, kind="classic", names=(f"{0:020}.checkpoint.parquet",))
    state = LogState(store, read_checkpoint(store, files), EMPTY_TAIL, cache)
    assert state.count("add") == 1000
    assert 100_000 < cache.held_bytes < 150_000
