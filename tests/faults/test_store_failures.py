"""Stores that refuse, time out or fail half-way: one clear error, nothing of it kept
as truth, and no secret in what is said."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import explorer
from explorer.errors import DeltaError, ErrorKind
from tests.faults.case import state_at_1
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, commit_name, metadata

Fault = Callable[[str], None]
"""Called with the path before each request; raises what the store would."""


class _ClientError(Exception):
    """What the client library of some store raises: no OSError."""


class _Flaky(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no types
    """A store whose requests fail as a test wants it."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    fault: ClassVar[Fault | None] = None
    requests: ClassVar[list[str]] = []

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("flaky://")))

    def _ask(self, path: str) -> None:
        type(self).requests.append(path)
        if type(self).fault is not None:
            type(self).fault(path)

    def info(self, path: str, **options: Any) -> Any:
        self._ask(path)
        return super().info(path, **options)

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self._ask(path)
        return super().ls(path, detail, **options)

    def cat_file(self, path: str, *args: Any, **options: Any) -> Any:
        self._ask(path)
        return super().cat_file(path, *args, **options)

    def _open(self, path: str, *args: Any, **options: Any) -> Any:
        self._ask(path)
        return _Half(super()._open(path, *args, **options), lambda: self._ask(path))


class _Half:
    """An opened file of which every read is a request that may fail."""

    def __init__(self, held: Any, ask: Callable[[], None]) -> None:
        self._held = held
        self._ask = ask

    def read(self, *args: Any) -> Any:
        self._ask()
        return self._held.read(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)

    def __enter__(self) -> _Half:
        return self

    def __exit__(self, *args: object) -> None:
        self._held.close()


@pytest.fixture
def flaky(tmp_path: Any) -> Iterator[type[_Flaky]]:
    """A sound table of three versions with a checkpoint of version 1, at `flaky://t`."""
    fsspec.register_implementation("flaky", _Flaky, clobber=True)
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a")])
    log.commit(1, [add("b")])
    log.checkpoint(1, state_at_1(FEATURE_PROTOCOL))
    log.commit(2, [add("c")])
    _Flaky.fault = None
    for place in log.log.iterdir():
        _Flaky().pipe_file(f"/t/_delta_log/{place.name}", place.read_bytes())
    _Flaky.requests.clear()
    yield _Flaky
    _Flaky.fault = None
    _Flaky.store.clear()
    _Flaky.requests.clear()


_FAULTS: dict[str, tuple[Callable[[], Exception], ErrorKind]] = {
    "refuses": (lambda: PermissionError(errno.EACCES, "hunter2"), "storage_refused"),
    "breaks off": (lambda: OSError(errno.EIO, "hunter2"), "storage_failed"),
    "times out": (lambda: TimeoutError("hunter2"), "storage_failed"),
    "loses the connection": (lambda: ConnectionResetError("hunter2"), "storage_failed"),
    "has a client of its own": (lambda: _ClientError("hunter2"), "storage_failed"),
    "answers nonsense": (lambda: ValueError("hunter2"), "storage_failed"),
}


def _always(make: Callable[[], Exception], part: str = "") -> Fault:
    def fault(path: str) -> None:
        if part in path:
            raise make()

    return fault


def _from(make: Callable[[], Exception], number: int) -> Fault:
    """Fails from the request of that number on."""
    left = [number]

    def fault(path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise make()

    return fault


def _look() -> tuple[int, int, int]:
    table = explorer.open_table("flaky://t")
    snapshot = table.snapshot()
    return snapshot.num_files, snapshot.files(["path", "size"]).num_rows, table.history().num_rows


@pytest.mark.parametrize("name", _FAULTS)
def test_store_that_fails_from_the_start(name: str, flaky: type[_Flaky]) -> None:
    make, kind = _FAULTS[name]
    flaky.fault = _always(make)
    with pytest.raises(DeltaError) as caught:
        _look()
    assert caught.value.kind == kind
    assert "hunter2" not in str(caught.value)
    flaky.fault = None
    assert _look() == (3, 3, 3)


@pytest.mark.parametrize("name", _FAULTS)
def test_store_that_fails_at_any_request(name: str, flaky: type[_Flaky]) -> None:
    make, kind = _FAULTS[name]
    assert _look() == (3, 3, 3)
    for number in range(len(flaky.requests)):
        flaky.fault = _from(make, number)
        # an error of the store, whatever was being read: it says nothing of the table
        with pytest.raises(DeltaError) as caught:
            _look()
        assert caught.value.kind == kind, (number, caught.value)
        assert all((caught.value.problem, caught.value.reason, caught.value.remedy))
        assert "hunter2" not in str(caught.value)
        flaky.fault = None
        assert _look() == (3, 3, 3)


@pytest.mark.parametrize("name", _FAULTS)
def test_open_table_recovers_from_a_failure(name: str, flaky: type[_Flaky]) -> None:
    make, kind = _FAULTS[name]
    for part in ("_delta_log", commit_name(2)):
        table = explorer.open_table("flaky://t")
        flaky.fault = _always(make, part)
        with pytest.raises(DeltaError) as caught:
            table.snapshot()
        assert caught.value.kind == kind
        flaky.fault = None
        assert table.snapshot().num_files == 3
        assert table.snapshot().problems == ()
    commit = f"/t/_delta_log/{commit_name(3)}"
    flaky().pipe_file(commit, b'{"remove":{"path":"a"}}\n')
    flaky.fault = _always(make, commit_name(3))
    for question in (table.snapshot, table.history):
        with pytest.raises(DeltaError) as caught:
            question()
        assert caught.value.kind == kind
    flaky.fault = None
    assert table.snapshot().num_files == 2
    assert table.history().num_rows == 4


@pytest.mark.parametrize("name", _FAULTS)
def test_snapshot_recovers_from_a_failure(name: str, flaky: type[_Flaky], tmp_path: Path) -> None:
    make, kind = _FAULTS[name]
    # sidecars are not read before files are asked for
    log = LogFolder(tmp_path / "sidecars")
    state = [*state_at_1(FEATURE_PROTOCOL), add("c")]
    log.checkpoint(2, state, form="v2-json", sidecars=2)
    for place in log.log.rglob("*.*"):
        name = place.relative_to(log.log).as_posix()
        flaky().pipe_file(f"/t/_delta_log/{name}", place.read_bytes())
    snapshot = explorer.open_table("flaky://t").snapshot()
    flaky.fault = _always(make)
    with pytest.raises(DeltaError) as caught:
        snapshot.files()
    assert caught.value.kind == kind
    flaky.fault = None
    assert snapshot.files().num_rows == 3


@pytest.mark.parametrize("name", ["refuses", "breaks off", "has a client of its own"])
def test_checkpoint_that_the_store_keeps_back(name: str, flaky: type[_Flaky]) -> None:
    make, kind = _FAULTS[name]
    flaky.fault = _always(make, ".checkpoint.")
    # the commits are another way, and the way that was barred is told
    snapshot = explorer.open_table("flaky://t").snapshot()
    assert snapshot.num_files == 3
    (problem,) = snapshot.problems
    assert problem.kind in {kind, "checkpoint_unusable"}
    assert "hunter2" not in str(problem)
    # without them there is none, and it is the store that is in the way
    flaky().rm_file(f"/t/_delta_log/{commit_name(0)}")
    with pytest.raises(DeltaError) as caught:
        _ = explorer.open_table("flaky://t").snapshot().num_files
    assert caught.value.kind == kind
    assert "hunter2" not in str(caught.value)


def test_commit_that_goes_away_between_listing_and_reading(flaky: type[_Flaky]) -> None:
    table = explorer.open_table("flaky://t")
    gone = f"/t/_delta_log/{commit_name(2)}"

    def fault(path: str) -> None:
        if path == gone:
            flaky.store.pop(gone, None)

    flaky.fault = fault
    with pytest.raises(DeltaError) as caught:
        table.snapshot()
    assert caught.value.kind == "log_gap"
    flaky.fault = None
    assert table.snapshot().version == 1


@pytest.mark.parametrize("versions", [(0,), (1,), (0, 1)], ids=str)
def test_log_cleanup_while_reading_is_no_error(
    versions: tuple[int, ...], flaky: type[_Flaky]
) -> None:
    # commits that a checkpoint covers, gone right after the log was listed
    gone = [f"/t/_delta_log/{commit_name(version)}" for version in versions]
    held = {path: flaky.store[path] for path in gone}

    def fault(path: str) -> None:
        if not path.endswith("_delta_log"):
            for name in gone:
                flaky.store.pop(name, None)

    def restore() -> explorer.Table:
        flaky.fault = None
        flaky.store.update(held)
        table = explorer.open_table("flaky://t")
        flaky.fault = fault
        return table

    assert restore().snapshot().num_files == 3
    assert restore().snapshot().timestamp is not None
    assert restore().protocol().min_reader_version == 3
    assert restore().metadata().id
    left = [version for version in (2, 1, 0) if version not in versions]
    assert restore().history()["version"].to_pylist() == left
    snapshot = restore().snapshot()
    for name in gone:
        flaky.store.pop(name, None)
    assert snapshot.timestamp is not None


def test_failing_store_on_the_command_line(
    flaky: type[_Flaky], capsys: pytest.CaptureFixture[str]
) -> None:
    from explorer.cli.main import run  # noqa: PLC0415  # typer is slow to load

    for make, kind in _FAULTS.values():
        for part in ("", commit_name(2)):
            flaky.fault = _always(make, part)
            for verb in ("inspect", "files", "schema"):
                code = run([verb, "flaky://t", "--json"])
                found = capsys.readouterr()
                assert (code, found.out) == (1, "")
                assert f'"kind":"{kind}"' in found.err
                assert "hunter2" not in found.err
