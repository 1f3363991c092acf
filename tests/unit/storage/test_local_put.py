"""Put-if-absent on a local disk: whole or not at all, first or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.errors import NotFoundError, StorageError, UnsupportedError
from explorer.storage.local import LocalStore
from explorer.storage.local_staging import LocalStaging
from explorer.storage.ports import PutOutcome

COMMIT = "_delta_log/00000000000000000001.json"


class Pieces:
    """Content in pieces that may be gone through again."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"one,"
        yield b"two,"
        yield b"three"


class Recorder:
    """Notes the calls that put a file into its place, in their order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        for name in ("write", "fsync", "link", "unlink"):
            monkeypatch.setattr(os, name, self._noting(name, getattr(os, name)))

    def _noting(self, name: str, real: object) -> object:
        def call(*args: object, **options: object) -> object:
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode)  # type: ignore[arg-type]
            self.calls.append("fsync folder" if folder else name)
            return real(*args, **options)  # type: ignore[operator]

        return call


@pytest.mark.rule("log-atomic-primitives", "log-never-overwrite")
def test_a_commit_is_written_and_synced_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_delta_log").mkdir()
    recorder = Recorder(monkeypatch)
    assert LocalStore(str(tmp_path)).put_if_absent(COMMIT, b"{}") is PutOutcome.CREATED
    assert recorder.calls == ["write", "fsync", "link", "unlink", "fsync folder"]


def test_folders_that_are_made_for_a_commit_are_synced_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(monkeypatch)
    LocalStore(str(tmp_path / "new")).put_if_absent(COMMIT, b"{}")
    assert recorder.calls.count("fsync folder") == 3


def test_content_may_come_in_pieces(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    assert store.put_if_absent(COMMIT, Pieces()) is PutOutcome.CREATED
    assert store.read(COMMIT) == b"one,two,three"


@pytest.mark.parametrize(
    "code", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP], ids=errno.errorcode.get
)
def test_a_file_system_without_links_refuses_to_commit(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(UnsupportedError, match="hard links") as caught:
        LocalStore(str(tmp_path)).put_if_absent(COMMIT, b"{}")
    assert caught.value.kind == "store_unsupported"
    assert os.listdir(tmp_path / "_delta_log") == []


@pytest.mark.parametrize("code", [errno.EEXIST, errno.EIO], ids=errno.errorcode.get)
def test_a_lost_answer_to_a_link_that_was_made_is_no_failure(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def lose_the_answer(source: str, target: str) -> None:
        real(source, target)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", lose_the_answer)
    assert LocalStore(str(tmp_path)).put_if_absent(COMMIT, b"{}") is PutOutcome.CREATED


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def fill(descriptor: int, data: bytes) -> int:
        real(descriptor, bytes(data)[:1])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", fill)
    with pytest.raises(StorageError):
        LocalStore(str(tmp_path)).put_if_absent(COMMIT, b"{}")
    assert os.listdir(tmp_path / "_delta_log") == []


def test_a_folder_that_cannot_be_synced_leaves_the_outcome_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_delta_log").mkdir()
    real = os.fsync

    def fail(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    assert LocalStore(str(tmp_path)).put_if_absent(COMMIT, b"{}") is PutOutcome.UNKNOWN


def test_files_that_another_program_made_get_their_names(tmp_path: Path) -> None:
    store, staging = LocalStore(str(tmp_path)), tmp_path / "made"
    wanted = {}
    for number in range(20):
        made = staging / f"p={number % 3}" / f"part-{number}"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(b"%d" % number)
        wanted[f"made/p={number % 3}/part-{number}"] = f"q={number % 4}/x y/{number}"
    (staging / "_temporary" / "0").mkdir(parents=True)
    (staging / "_temporary" / "0" / "left").write_bytes(b"")
    (staging / "p=0" / ".part-0.crc").write_bytes(b"")
    found = LocalStaging(store=store, name="made")
    assert found.paths() == sorted(wanted)
    store.publish(list(wanted.items()))
    for number in range(20):
        assert (tmp_path / f"q={number % 4}" / "x y" / str(number)).read_bytes() == b"%d" % number
    assert found.paths() == []
    found.remove()
    assert not staging.exists()
    assert LocalStaging(store=store, name="never").paths() == []


def test_a_file_that_is_not_there_gets_no_name(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        LocalStore(str(tmp_path)).publish([("made", "wanted")])
    assert list(tmp_path.iterdir()) == []
