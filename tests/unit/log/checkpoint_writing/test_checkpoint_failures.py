"""A store that fails or lies while a checkpoint is written leaves the table as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pytest

import explorer
from explorer.errors import CorruptLogError, DeltaError, StorageError
from explorer.log.checkpoint_writing._checkpoint_check import Expected, check_reads_back
from explorer.log.checkpoint_writing.checkpoint_form import CLASSIC, CheckpointForm
from explorer.log.folder.listing import list_log
from explorer.storage.local import LocalStore
from explorer.storage.ports import WriteStore
from tests.tables import FEATURE_PROTOCOL, Action, metadata
from tests.unit.log.checkpoint_cases import FORM_IDS, FORMS, build_log, left, shown, write


class _Torn(LocalStore):
    """A store that keeps all but the last bytes of one file in `which`."""

    def __init__(self, root: str, which: str) -> None:
        super().__init__(root)
        self._which = which

    open_output = None  # type: ignore[assignment]  # so that it is no `OutputStore`

    def write(self, path: str, data: bytes) -> None:
        super().write(path, data[:-9] if self._which in path else data)


class _Swapped(_Torn):
    """A store that keeps other bytes of the same length."""

    def write(self, path: str, data: bytes) -> None:
        middle = len(data) // 2
        other = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        LocalStore.write(self, path, other if self._which in path else data)


@pytest.mark.parametrize("which", [".checkpoint.", "_sidecars/"])
@pytest.mark.parametrize("kind", [_Torn, _Swapped])
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_checkpoint_that_does_not_read_back_is_deleted(
    form: CheckpointForm, kind: Callable[[str, str], WriteStore], which: str, tmp_path: Path
) -> None:
    if form.actions_per_sidecar is None:
        which = ".checkpoint."
    log = build_log(tmp_path / "t")
    before = shown(explorer.open_table(log.root).snapshot())
    with pytest.raises(CorruptLogError, match="read back"):
        write(log, form, store=kind(str(log.root), which))
    assert left(log) == [f"{version:020}.json" for version in range(3)]
    assert shown(explorer.open_table(log.root).snapshot()) == before


class _Failing(LocalStore):
    """A store whose n-th write of a file fails, before or after it is done."""

    def __init__(self, root: str, at: int, *, done: bool) -> None:
        super().__init__(root)
        self._left, self._done = at, done

    open_output = None  # type: ignore[assignment]  # so that it is no `OutputStore`

    def write(self, path: str, data: bytes) -> None:
        self._left -= 1
        if self._left >= 0 or self._done:
            super().write(path, data)
        if self._left < 0:
            raise StorageError("The disk is full.", reason="It is.", remedy="Make room.")


@pytest.mark.slow
@pytest.mark.parametrize("done", [False, True], ids=["lost", "unacknowledged"])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_failing_store_leaves_the_table_as_it_was(
    form: CheckpointForm, at: int, *, done: bool, tmp_path: Path
) -> None:
    log = build_log(tmp_path / "t")
    before = shown(explorer.open_table(log.root).snapshot())
    failed = False
    try:
        write(log, form, store=_Failing(str(log.root), at, done=done))
    except DeltaError:
        failed = True
    snapshot = explorer.open_table(log.root).snapshot()
    assert failed or snapshot.segment.checkpoint is not None
    assert shown(snapshot)[0] == before[0]
    assert shown(snapshot)[2:] == before[2:]
    assert snapshot.problems == ()


class _Limited:
    """A file on a disk with room for so many bytes."""

    def __init__(self, sink: BinaryIO, room: int) -> None:
        self._sink, self._room = sink, room

    def write(self, data: bytes) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OSError(28, "No space left on device")
        return self._sink.write(data)


class _Full(LocalStore):
    """A store whose disk is full after so many bytes of each file."""

    room = 100

    @contextmanager
    def open_output(self, path: str) -> Iterator[BinaryIO]:
        with super().open_output(path) as sink:
            yield cast("BinaryIO", _Limited(sink, self.room))


@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_full_disk_leaves_nothing(form: CheckpointForm, tmp_path: Path) -> None:
    log = build_log(tmp_path / "t")
    with pytest.raises(StorageError, match="No space left"):
        write(log, form, store=_Full(str(log.root)))
    assert left(log) == [f"{version:020}.json" for version in range(3)]


@pytest.mark.parametrize("call", ["os.fsync", "os.replace"])
@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_disk_that_refuses_at_the_end_leaves_nothing(
    form: CheckpointForm, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = build_log(tmp_path / "t")

    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(call, refuse)
        with pytest.raises(StorageError, match="Input/output error"):
            write(log, form)
    assert left(log) == [f"{version:020}.json" for version in range(3)]


@pytest.mark.parametrize(
    ("lines", "num_adds", "num_removes", "told"),
    [
        ((), 7, 1, "6 and 1"),
        ((), 6, 0, "6 and 1"),
        ((FEATURE_PROTOCOL, metadata(description="other")), 6, 1, "metadata"),
    ],
    ids=["a file less", "a tombstone more", "other metadata"],
)
def test_checkpoint_that_holds_something_else_does_not_read_back(
    lines: tuple[Action, ...], num_adds: int, num_removes: int, told: str, tmp_path: Path
) -> None:
    log = build_log(tmp_path / "t")
    write(log, CLASSIC)
    store = LocalStore(str(log.root))
    (files,) = list_log(store).checkpoints
    expected = Expected(small=lines, num_adds=num_adds, num_removes=num_removes)
    with pytest.raises(CorruptLogError, match=told):
        check_reads_back(store, files, (), expected)
