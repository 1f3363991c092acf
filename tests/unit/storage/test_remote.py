"""Stores that fsspec reaches, by the same code: `memory://` here."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import requests
from fsspec.implementations.memory import MemoryFileSystem

import explorer
from explorer.errors import DeltaError, InvalidArgumentError, StorageError, UnsupportedError
from explorer.storage.concurrent_reads import MOST_WITHOUT_THREADS
from explorer.storage.open import open_read_store, open_write_store
from explorer.storage.ports import ReadStore, WriteStore
from explorer.table.table import Table
from tests.conftest import CORPUS
from tests.tables import PROTOCOL, LogFolder, add, metadata

_TABLES = (
    "dat-all_primitive_types",
    "dat-multi_partitioned",
    "dat-no_replay",
    "deltars-checkpoint-v2-table",
    "deltars-delta-0.8.0-null-partition",
    "deltars-simple_table",
    "deltars-table_with_deletion_logs",
    "deltars-table_with_partitioning_mapping",
    "golden-corrupted-last-checkpoint-kernel",
    "golden-data-reader-escaped-chars",
    "golden-dv-partitioned-with-checkpoint",
    "golden-log-replay-dv-key-cases",
    "golden-log-replay-special-characters-a",
    "golden-multi-part-checkpoint",
    "golden-only-checkpoint-files",
    "golden-v2-checkpoint-json",
    "kernel-compacted-log-files-table",
    "kernel-crc-full",
    "kernel-v1-multi-part-struct-stats-only",
    "kernel-v2-checkpoints-json-with-sidecars",
    "kernel-v2-classic-checkpoint-json",
    "spark-table-with-dv-special-char",
    "spark44-cdf-all-operations",
    "spark44-in-commit-timestamps-later",
    "spark44-partition-values-odd",
    "spark44-streaming-transactions",
    "spark44-v2-checkpoint-sidecars",
)
_ROWS = (
    "dat-all_primitive_types",
    "dat-multi_partitioned",
    "deltars-simple_table",
    "golden-data-reader-escaped-chars",
    "golden-dv-partitioned-with-checkpoint",
    "kernel-v2-checkpoints-json-with-sidecars",
    "spark44-cdf-all-operations",
    "spark44-partition-values-odd",
)
_REFUSED = (
    "golden-deltalog-invalid-protocol-version",
    "golden-versions-not-contiguous",
    "golden-no-delta-log-folder",
    "javakernel-basic_catalog_managed",
)


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    """The memory file system, empty before and after."""
    file_system = fsspec.filesystem("memory")
    for held in (file_system.store, file_system.pseudo_dirs):
        held.clear()
    yield file_system
    for held in (file_system.store, file_system.pseudo_dirs):
        held.clear()


def _upload(file_system: MemoryFileSystem, folder: Path, root: str) -> None:
    for place in folder.rglob("*"):
        if place.is_file():
            relative = place.relative_to(folder).as_posix()
            file_system.pipe_file(f"{root}/{relative}", place.read_bytes())


def _everything(table: Table) -> dict[str, Any]:
    """What a table says of itself, times of files left out."""
    snapshot = table.snapshot()
    history = table.history()
    return {
        "files": snapshot.files(["path", "size", "stats", "partition_values", "deletion_vector"]),
        "tombstones": snapshot.tombstones(),
        "figures": (
            snapshot.version,
            snapshot.num_files,
            snapshot.num_rows,
            snapshot.size_in_bytes,
            snapshot.num_tombstones,
        ),
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "transactions": snapshot.transactions,
        "domains": snapshot.domains,
        "history": history.drop_columns(["timestamp"]),
        "listing": table.listing(),
        "segment": snapshot.segment,
        "problems": snapshot.problems,
        "old": [
            table.snapshot(version=version).num_files
            for version in history["version"].to_pylist()
            if version >= min(history["version"].to_pylist())
        ]
        if snapshot.segment.checkpoint is None
        else None,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", _TABLES)
def test_table_in_memory_says_the_same_as_on_disk(
    name: str, corpus: Path, memory: MemoryFileSystem
) -> None:
    folder = corpus / "tables" / name
    _upload(memory, folder, "/box/t able")
    local = _everything(explorer.open_table(folder))
    remote = _everything(explorer.open_table("memory://box/t able"))
    assert remote == local
    manifest = {
        entry["name"]: entry for entry in json.loads((CORPUS / "manifest.json").read_text())
    }
    expected = manifest[name]
    assert remote["figures"] == (
        expected["latest_version"],
        expected["num_active_files"],
        expected["num_rows_from_stats"],
        expected["total_bytes_active"],
        expected["num_tombstones"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", _ROWS)
def test_rows_in_memory_are_the_same_as_on_disk(
    name: str, corpus: Path, memory: MemoryFileSystem
) -> None:
    folder = corpus / "tables" / name
    _upload(memory, folder, "/box/t able")
    also = ["_file_path", "_row_index"]
    local = explorer.read_rows(explorer.open_table(folder).snapshot(), metadata_columns=also)
    remote = explorer.read_rows(
        explorer.open_table("memory://box/t able").snapshot(), metadata_columns=also
    )
    assert remote.num_rows > 0
    assert remote.schema == local.schema
    assert repr(remote.to_pylist()) == repr(local.to_pylist())  # there, NaN is NaN


@pytest.mark.parametrize("name", _REFUSED)
def test_refusal_in_memory_is_the_same_as_on_disk(
    name: str, corpus: Path, memory: MemoryFileSystem
) -> None:
    folder = corpus / "tables" / name
    _upload(memory, folder, "/t")
    told = []
    for place in (folder, "memory://t"):
        with pytest.raises(DeltaError) as caught:
            explorer.open_table(place).snapshot()
        told.append((caught.value.kind, caught.value.reason.replace("memory://t", str(folder))))
    assert told[0] == told[1]


def test_port_is_kept(memory: MemoryFileSystem) -> None:
    assert isinstance(open_read_store("memory://t"), ReadStore)


def test_table_at_the_root_of_a_store(memory: MemoryFileSystem, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    _upload(memory, log.root, "")
    for place in ("memory://", "memory:///"):
        assert explorer.open_table(place).snapshot().num_files == 1


def test_new_commits_are_seen_at_once(memory: MemoryFileSystem, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    _upload(memory, log.root, "/t")
    table = explorer.open_table("memory://t")
    assert table.snapshot().num_files == 1
    for version in range(1, 4):
        commit = log.commit(version, [add(f"f{version}")])
        memory.pipe_file(f"/t/_delta_log/{commit.name}", commit.read_bytes())
        assert table.latest_version() == version
        assert table.snapshot().num_files == 1 + version
        assert table.history()["version"].to_pylist()[0] == version


@pytest.mark.parametrize("name", ["with space", "50% off", "a%20b", "größe-表", "a+b&c=d"])
def test_odd_names_reach_the_store_unchanged(
    name: str, memory: MemoryFileSystem, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    log.checkpoint(0, [PROTOCOL, metadata(), add("a")], form="v2-json", sidecars=1)
    _upload(memory, log.root, f"/{name}/t")
    assert explorer.open_table(f"memory://{name}/t").snapshot().num_files == 1


def test_log_file_of_10000_characters_is_foreign(memory: MemoryFileSystem, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    _upload(memory, log.root, "/t")
    memory.pipe_file("/t/_delta_log/" + "n" * 10_000, b"")
    memory.pipe_file("/t/_delta_log/" + "0" * 10_000 + ".json", b"")
    table = explorer.open_table("memory://t")
    assert table.snapshot().num_files == 1
    assert len(table.listing().foreign) == 2


class _Keeper(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no types
    """A store with credentials, which it must not share."""

    protocol = "keeper"
    made: list[_Keeper] = []  # noqa: RUF012  # one list for the class

    def __init__(self, key: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.key = key
        self.options = options
        type(self).made.append(self)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("keeper://")))


@pytest.fixture
def keeper() -> Iterator[type[_Keeper]]:
    """The class, known to fsspec."""
    fsspec.register_implementation("keeper", _Keeper, clobber=True)
    _Keeper.made.clear()
    yield _Keeper
    _Keeper.made.clear()


def test_no_two_stores_share_an_instance(keeper: type[_Keeper]) -> None:
    for key in ("hers", "his", "hers", ""):
        open_read_store("keeper://t", {"key": key} if key else None)
    assert [made.key for made in keeper.made] == ["hers", "his", "hers", ""]
    assert len({id(made) for made in keeper.made}) == 4


def test_listings_are_not_cached_by_the_implementation(keeper: type[_Keeper]) -> None:
    open_read_store("keeper://t", {"key": "k"})
    assert keeper.made[0].options["use_listings_cache"] is False


class _Body:
    """What S3 sends."""

    async def read(self) -> bytes:
        return b"{}"

    def close(self) -> None:
        """It was read."""


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, MOST_WITHOUT_THREADS),
        ({"max_pool_connections": 4, "user_agent": "a service"}, 4),
    ],
    ids=["ours", "the caller's"],
)
def test_an_object_of_s3_is_read_by_one_request_beside_many_others(
    given: dict[str, Any], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def call(_: Any, method: str, *__: Any, **___: Any) -> dict[str, _Body]:
        asked.append(method)
        return {"Body": _Body()}

    monkeypatch.setattr("s3fs.S3FileSystem._call_s3", call)
    options: dict[str, Any] = {"key": "k", "secret": "s"} | (
        {"config_kwargs": given} if given else {}
    )
    store: Any = open_read_store("s3://bucket/t", options)
    assert store.read("_delta_log/0.json") == b"{}"
    assert asked == ["get_object"]
    assert store._fs.config_kwargs["max_pool_connections"] == kept
    assert store._fs.config_kwargs["user_agent"] == given.get("user_agent", "delta-explorer")
    assert options.get("config_kwargs", {}) == given


def test_secrets_are_never_shown(keeper: type[_Keeper]) -> None:
    place = "keeper://user:hunter2@t?sig=hunter2"
    store = open_read_store(place, {"key": "hunter2"})
    shown = [store.uri, repr(store), str(store)]
    for question in (
        lambda: explorer.open_table(place, {"key": "hunter2"}),
        lambda: store.read("x"),
        lambda: store.list_names("x"),
        lambda: store.stat("x"),
        lambda: store.open_input("x"),
        lambda: open_write_store(place),
        lambda: open_read_store("nosuch://user:hunter2@t?sig=hunter2"),
        lambda: open_read_store("keeper://user:hunter2@t", {"no such option": "hunter2"}),
    ):
        try:
            question()
        except DeltaError as error:
            shown += [str(error), repr(error), json.dumps(error.as_dict())]
    assert len(shown) > 10
    assert not [text for text in shown if "hunter2" in text]


def test_a_token_that_cannot_be_looked_into_is_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask(url: str, params: dict[str, str], **_: Any) -> None:
        raise requests.ConnectionError(f"nobody at {url}?{params}")

    monkeypatch.setattr("gcsfs.credentials.requests.get", ask)
    # the servers of other tests, whose tokens nobody knows, need it for the rest of the process
    monkeypatch.delenv("FETCH_RAW_TOKEN_EXPIRY", raising=False)
    secret = "hunter" + "2"  # lines of this file are shown too
    with pytest.raises(StorageError, match="ConnectionError") as failure:
        open_read_store("gs://bucket/t", {"token": secret, "project": "p"})
    assert secret not in "".join(traceback.format_exception(failure.value))


def test_scheme_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        open_read_store("nosuch://bucket/t")


def test_address_of_azure_without_an_account_says_what_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ACCOUNT_NAME", "ACCOUNT_KEY", "CONNECTION_STRING", "SAS_TOKEN"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    with pytest.raises(InvalidArgumentError, match="names the Azure account") as caught:
        open_read_store("az://container/table")
    assert "account_name" in caught.value.remedy
    with pytest.raises(InvalidArgumentError, match="not understood"):
        open_read_store("az://container/table", {"connection_string": "hidden"})
    assert "hidden" not in str(caught.value)


def test_scheme_whose_package_is_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme, package, extra in (
        ("s3", "s3fs", "s3"),
        ("gs", "gcsfs", "gcs"),
        ("abfss", "adlfs", "azure"),
    ):
        known = sys.modules["fsspec.registry"]._registry  # `fsspec.registry` shows a view of it
        monkeypatch.delitem(known, scheme, raising=False)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(UnsupportedError) as caught:
            open_read_store(f"{scheme}://bucket/t")
        assert caught.value.kind == "missing_dependency"
        assert f"delta-explorer[{extra}]" in caught.value.remedy


def test_remote_stores_for_reading_cannot_write() -> None:
    assert not isinstance(open_read_store("memory://t"), WriteStore)
    assert isinstance(open_write_store("memory://t"), WriteStore)
