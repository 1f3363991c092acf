"""Stores that fsspec reaches: created once, or refused with a reason."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from s3fs import S3FileSystem

from explorer import pipeline
from explorer.errors import NotFoundError, StorageError, UnsupportedError
from explorer.storage.open import open_read_store, open_write_store
from explorer.storage.ports import PutOutcome, WriteStore
from tests.azure_server import azure_server
from tests.gcs_server import gcs_server
from tests.s3_server import s3_server

COMMIT = "_delta_log/00000000000000000001.json"


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, Any]]:
    with s3_server() as options:
        yield options


@pytest.fixture(scope="module")
def azure() -> Iterator[dict[str, Any]]:
    with azure_server() as options:
        yield options


@pytest.fixture(scope="module")
def gcs() -> Iterator[dict[str, Any]]:
    with gcs_server() as options:
        yield options


SCHEMES = {"s3": "s3", "azure": "az", "gcs": "gs"}


@pytest.fixture(params=["memory", *SCHEMES])
def place(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """A new table's place on each store, and the options that lead to it."""
    name = uuid4().hex
    if request.param == "memory":
        return f"memory://{name}/t", {}
    scheme = SCHEMES[request.param]
    return f"{scheme}://bucket/{name}/t", request.getfixturevalue(request.param)


@pytest.fixture
def store(place: tuple[str, dict[str, Any]]) -> WriteStore:
    return open_write_store(*place)


@pytest.mark.slow
@pytest.mark.rule("log-never-overwrite", "log-atomic-primitives")
def test_an_object_is_created_once(store: WriteStore) -> None:
    assert isinstance(store, WriteStore)
    assert store.put_if_absent(COMMIT, b"first") is PutOutcome.CREATED
    assert store.put_if_absent(COMMIT, b"second") is PutOutcome.ALREADY_THERE
    assert store.read(COMMIT) == b"first"
    assert store.list_names("_delta_log") == [COMMIT.rpartition("/")[2]]


def test_content_in_pieces_is_one_object(store: WriteStore) -> None:
    assert store.put_if_absent(COMMIT, [b"one,", b"two"]) is PutOutcome.CREATED
    assert store.read(COMMIT) == b"one,two"


def test_what_may_be_replaced_is_replaced(store: WriteStore) -> None:
    store.write("_delta_log/_last_checkpoint", b"old")
    store.write("_delta_log/_last_checkpoint", b"new")
    assert store.read("_delta_log/_last_checkpoint") == b"new"


def test_deleting_what_is_gone_is_no_error(store: WriteStore) -> None:
    store.write("f", b"x")
    store.delete("f")
    store.delete("f")
    with pytest.raises(NotFoundError):
        store.read("f")


@pytest.mark.slow
def test_of_racing_threads_exactly_one_creates(place: tuple[str, dict[str, Any]]) -> None:
    stores = [open_write_store(*place) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for number in range(5):
            path = f"_delta_log/{number:020}.json"
            outcomes = list(pool.map(lambda one, at=path: one.put_if_absent(at, b"x"), stores))
            assert outcomes.count(PutOutcome.CREATED) == 1
            assert outcomes.count(PutOutcome.ALREADY_THERE) == 3


@pytest.mark.slow
@pytest.mark.parametrize("server", SCHEMES)
def test_where_there_is_no_bucket_it_is_known_that_nothing_was_committed(
    server: str, request: pytest.FixtureRequest
) -> None:
    uri, options = f"{SCHEMES[server]}://nowhere/t", request.getfixturevalue(server)
    rows = pa.table({"id": [1]})
    for write in (
        lambda: pipeline.create(uri, "id BIGINT", storage_options=options),
        lambda: pipeline.write(rows, uri, storage_options=options),
        lambda: open_write_store(uri, options).put_if_absent(COMMIT, b"x"),
    ):
        with pytest.raises(StorageError, match="no such bucket") as caught:
            write()
        assert caught.value.kind == "storage_failed"
        assert caught.value.problem == f"{uri} cannot be written to."


@pytest.mark.slow
def test_of_a_file_that_fails_between_its_parts_no_part_is_left(
    s3: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger objects are sent in parts, of 50 MiB unless told: here of 5."""
    monkeypatch.setattr(S3FileSystem._pipe_file, "__defaults__", (5 * 2**20, None, "overwrite"))
    asked, call = list[str](), S3FileSystem._call_s3

    async def fail(self: Any, method: str, *given: Any, **further: Any) -> Any:
        asked.append(method)
        if method == "upload_part" and further["PartNumber"] == 2:
            raise OSError(errno.EIO, "no more")
        return await call(self, method, *given, **further)

    monkeypatch.setattr(S3FileSystem, "_call_s3", fail)
    name = uuid4().hex
    rows = pa.table({"data": pa.array([os.urandom(11 * 2**20)], pa.binary())})
    with pytest.raises(StorageError, match="could not be read or written"):
        pipeline.write(rows, f"s3://bucket/{name}", storage_options=s3)
    assert "abort_multipart_upload" in asked
    files = S3FileSystem(**s3)
    assert not files.call_s3("list_multipart_uploads", Bucket="bucket").get("Uploads")
    assert files.find(f"bucket/{name}") == []


def test_of_the_folders_around_a_new_table_only_their_logs_are_listed(
    s3: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, listing = set[str](), S3FileSystem._lsdir

    async def note(self: Any, path: str, *given: Any, **further: Any) -> Any:
        listed.add(path)
        return await listing(self, path, *given, **further)

    monkeypatch.setattr(S3FileSystem, "_lsdir", note)
    name = uuid4().hex
    pipeline.create(f"s3://bucket/{name}/a/t", "id BIGINT", storage_options=s3)
    around = {f"bucket/{name}/a", f"bucket/{name}", "bucket"}
    assert {f"{folder}/_delta_log" for folder in around} <= listed
    assert not around & listed


@pytest.mark.parametrize(("code", "size"), [("404", 1), ("NoSuchUpload", 1), (None, 33 * 2**20)])
def test_where_something_else_is_missing_the_outcome_is_open(
    code: str | None, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_write_store(f"memory://{uuid4().hex}/t")
    store.put_if_absent("_delta_log/00000000000000000000.json", b"x")

    def lack(*_: object, **__: object) -> None:
        cause = Exception()
        if code is not None:
            cause.response = {"Error": {"Code": code}}  # type: ignore[attr-defined]  # botocore's
        raise FileNotFoundError from cause

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", lack)
    assert store.put_if_absent(COMMIT, b"x" * size) is PutOutcome.UNKNOWN


@pytest.mark.parametrize("uri", ["http://host/t", "ftp://host/t", "simplecache::s3://bucket/t"])
def test_a_store_without_a_condition_is_refused(uri: str) -> None:
    with pytest.raises(UnsupportedError, match="overwrite each other") as caught:
        open_write_store(uri)
    assert caught.value.kind == "store_unsupported"
    if not uri.startswith("ftp"):  # which nothing here can read either
        open_read_store(uri)


def ignore_the_condition(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
    self.open(path, mode="wb", data=value)


def know_no_mode(self: Any, path: str, value: bytes) -> None:
    self.open(path, mode="wb", data=value)


def answer_otherwise(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
    if self.exists(path):
        raise OSError(errno.EINVAL, "A header you provided implies something else")
    self.open(path, mode="wb", data=value)


@pytest.mark.parametrize("client", [ignore_the_condition, know_no_mode, answer_otherwise])
def test_a_store_that_ignores_the_condition_is_found_out(
    client: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", client)
    uri = f"memory://{uuid4().hex}/t"
    store = open_write_store(uri)
    for _ in range(2):  # and not forgotten
        with pytest.raises(UnsupportedError) as caught:
            store.put_if_absent(COMMIT, b"x")
    assert caught.value.kind == "store_unsupported"
    # it is known that a write did not commit, and it takes its files with it
    with pytest.raises(UnsupportedError, match="cannot be committed to"):
        pipeline.write(pa.table({"id": [1]}), uri)
    for work in (lambda: store.read(COMMIT), lambda: store.list_names("_delta_log")):
        with pytest.raises(NotFoundError):
            work()
    assert not MemoryFileSystem().find(uri)


def test_a_store_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[str] = []
    real = MemoryFileSystem.pipe_file

    def note(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
        paths.append(path.rpartition("/")[2])
        real(self, path, value, mode=mode)

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", note)
    store = open_write_store(f"memory://{uuid4().hex}/t")
    for number in range(3):
        store.put_if_absent(f"_delta_log/{number}", b"x")
    assert [path.startswith(".tmp-trial-") for path in paths] == [True, True, False, False, False]


def test_a_lost_answer_leaves_the_outcome_open(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_write_store(f"memory://{uuid4().hex}/t")
    store.put_if_absent("_delta_log/0", b"x")
    real = MemoryFileSystem.pipe_file

    def lose(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
        real(self, path, value, mode=mode)
        raise ConnectionResetError

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", lose)
    assert store.put_if_absent(COMMIT, b"x") is PutOutcome.UNKNOWN


def test_a_refused_write_is_told_as_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
        raise PermissionError("key=secret")

    store = open_write_store(f"memory://{uuid4().hex}/t")
    store.put_if_absent("_delta_log/0", b"x")
    monkeypatch.setattr(MemoryFileSystem, "pipe_file", refuse)
    with pytest.raises(StorageError) as caught:
        store.put_if_absent(COMMIT, b"x")
    assert caught.value.kind == "storage_refused"
    assert "secret" not in str(caught.value)
