"""The local store: names as they are, errors as ours, commits put once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import explorer
from explorer.errors import DeltaError, NotFoundError, StorageError
from explorer.storage._many_files import read_infos
from explorer.storage.local import LocalStore
from explorer.storage.open import open_read_store, open_write_store
from explorer.storage.ports import HeadStore, PutOutcome, ReadStore, WriteStore
from tests.tables import PROTOCOL, LogFolder, add, metadata

_ODD_NAMES = (
    "with space",
    "50% off",
    "a%20b",
    "a%2Fb",
    "größe-表-🦀",
    "re\u0301sume\u0301",  # decomposed, as some file systems store it
    "q?x=1#y",
    "a:b",
    "s3:",
    "'quoted' \"twice\"",
    "[*]?",
    "line\nbreak",
    "-dash",
    "~",
)


@pytest.mark.parametrize("name", _ODD_NAMES)
def test_table_below_a_folder_of_an_odd_name(name: str, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / name / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    log.checkpoint(0, [PROTOCOL, metadata(), add("a")], form="v2-json", sidecars=1)
    log.commit(1, [add("b")])
    for place in (log.root, str(log.root), log.root.as_uri(), f"{log.root}/"):
        table = explorer.open_table(place)
        assert table.uri == str(log.root)
        assert table.snapshot().num_files == 2
        assert table.history().num_rows == 2


def test_both_ports_are_kept(tmp_path: Path) -> None:
    assert isinstance(open_read_store(tmp_path), ReadStore)
    assert isinstance(open_write_store(tmp_path), WriteStore)


def test_listing_holds_files_alone(tmp_path: Path) -> None:
    for name in ("b", "a", "ä", "B", ".hidden", "with space"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "folder").mkdir()
    store = LocalStore(str(tmp_path))
    names = sorted(["b", "a", "ä", "B", ".hidden", "with space"])
    assert sorted(store.list_names("")) == names
    found = store.list_folder("")
    assert [info.name for info in found] == names
    assert [info.size for info in found] == [len(name.encode()) for name in names]


def test_a_listing_of_thousands_is_what_each_file_says(tmp_path: Path) -> None:
    folder, outside = tmp_path / "many", tmp_path / "outside"
    (folder / "folder").mkdir(parents=True)
    outside.write_bytes(b"outside")
    for number in range(9_000):  # two calls of Arrow, and more
        (folder / f"{number:05}").write_bytes(b"x" * (number % 7))
    for name, time in (("00003", -1_500_000), ("08999", 1_700_000_000_123_999_999)):
        os.utime(folder / name, ns=(time, time))
    (folder / "link").symlink_to(outside)
    (folder / "leads nowhere").symlink_to(tmp_path / "nothing")
    (folder / "to a folder").symlink_to(folder / "folder")
    os.mkfifo(folder / "pipe")
    store = LocalStore(str(folder))
    found = store.list_folder("")
    assert [info.name for info in found] == [*(f"{number:05}" for number in range(9_000)), "link"]
    assert found == [store.stat(info.name) for info in found]
    (folder / "größe").write_bytes(b"xy")
    with open(os.fsencode(folder) + b"/no text\xff", "wb"):
        pass
    assert {info.name: info.size for info in store.list_folder("")} == {
        **{info.name: info.size for info in found},
        "größe": 2,
        "no text\ufffd": 0,
    }


def test_what_went_away_was_never_in_a_listing_of_thousands(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    found = list(read_infos(str(tmp_path), ["gone", "folder", "there"]))
    assert found == [LocalStore(str(tmp_path)).stat("there")]


def test_listing_is_never_stale(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    assert store.list_names("") == []
    (tmp_path / "new").write_bytes(b"1")
    assert store.list_names("") == ["new"]
    (tmp_path / "new").unlink()
    assert store.list_names("") == []


def test_reading_whole_and_in_part(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    (tmp_path / "empty").write_bytes(b"")
    store = LocalStore(str(tmp_path))
    assert store.read("f") == b"0123456789"
    assert store.read("f", 4) == b"0123"
    assert store.read("f", 0) == b""
    assert store.read("f", 100) == b"0123456789"
    assert store.read("empty") == b""
    assert list(store.read_many(["f", "empty"], 3)) == [b"012", b""]
    with store.open_input("f") as source:
        assert source.size() == 10
        source.seek(8)
        assert source.read() == b"89"


def test_many_are_read_from_folders_in_any_order(tmp_path: Path) -> None:
    places = ["a/1", "b/c/2", "a/3", "4", "a/1", str(tmp_path / "b/5"), f"file://{tmp_path}/6"]
    for at, place in enumerate(places):
        path = tmp_path / place.removeprefix("file://")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%d" % at)
    store = LocalStore(str(tmp_path))
    assert list(store.read_many(places)) == [b"4", b"1", b"2", b"3", b"4", b"5", b"6"]


def test_many_that_are_not_all_read_leave_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"0")
    reading: Any = LocalStore(str(tmp_path)).read_many(["f", "f", "nothing"])
    assert next(reading) == b"0"
    assert _open_below(tmp_path) == [str(tmp_path)]
    reading.close()
    with pytest.raises(NotFoundError):
        list(LocalStore(str(tmp_path)).read_many(["f", "nothing"]))
    assert _open_below(tmp_path) == []


def _open_below(folder: Path) -> list[str]:
    """What this process has open there."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # that of the listing is gone
            found.append(os.readlink(descriptor))
    return [path for path in found if path.startswith(str(folder))]


def test_reading_is_whole_whatever_the_size(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    for size in (0, 1, 2**13 - 1, 2**13, 2**13 + 1, 2**16 - 1, 2**16, 2**16 + 1, 3 * 2**16):
        data = os.urandom(size)
        (tmp_path / "f").write_bytes(data)
        assert store.read("f") == data
        assert list(store.read_many(["f", "f"])) == [data, data]
        assert list(store.read_many(["f"], 9)) == [data[:9]]
        for limit in (1, 2**16 - 1, 2**16, 2**16 + 1, size, size + 1):
            assert store.read("f", limit) == data[:limit]
            assert store.read_heads("", ["f"], limit)[0] == [data[:limit]]


def test_a_device_without_end_is_not_read_without_end(tmp_path: Path) -> None:
    (tmp_path / "f").symlink_to("/dev/zero")
    store = LocalStore(str(tmp_path))
    assert not store.read("f").strip(b"\0")
    assert not store.read("f", 2**40).strip(b"\0")
    (head,), _ = store.read_heads("", ["f"], 2**40)
    assert not head.strip(b"\0")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    store = LocalStore(str(tmp_path))
    assert store.read("p") == b""
    with pytest.raises(StorageError):
        store.open_input("p")


def test_heads_come_with_their_times(tmp_path: Path) -> None:
    for name, time in (("a", 1_700_000_000_123_999_999), ("b", 0), ("c", 1)):
        (tmp_path / name).write_bytes(name.encode() * 3)
        os.utime(tmp_path / name, ns=(time, time))
    store = LocalStore(str(tmp_path.parent))
    found = store.read_heads(tmp_path.name, ["c", "a", "b"], 2)
    assert found == ([b"cc", b"aa", b"bb"], [0, 1_700_000_000_123, 0])
    assert isinstance(store, HeadStore)


def test_absolute_path_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"x")
    store = LocalStore(str(tmp_path / "table"))
    assert store.read(str(tmp_path / "outside")) == b"x"


def test_times_are_milliseconds_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    os.utime(tmp_path / "f", ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    store = LocalStore(str(tmp_path))
    assert store.stat("f").modified_ms == 1_700_000_000_123
    assert store.list_folder("")[0] == store.stat("f")


@pytest.mark.parametrize(
    "question",
    [
        lambda store: store.read("nothing"),
        lambda store: store.read("file/below"),
        lambda store: store.stat("nothing"),
        lambda store: store.open_input("nothing"),
        lambda store: store.list_names("nothing"),
        lambda store: store.list_names("file"),
        lambda store: store.list_folder("nothing"),
        lambda store: list(store.read_many(["file", "nothing"])),
        lambda store: store.read_heads("", ["file", "nothing"], 10),
        lambda store: store.read_heads("nothing", ["file"], 10),
    ],
)
def test_what_is_not_there_is_said_so(
    question: Callable[[LocalStore], object], tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotFoundError):
        question(LocalStore(str(tmp_path)))


@pytest.mark.parametrize(
    "path", ["loop", "a\0b", "n" * 300, "n/" * 3000, "folder"], ids=lambda path: path[:6]
)
def test_what_cannot_be_read_is_one_error(path: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    store = LocalStore(str(tmp_path))
    assert not store.has_folder("loop")
    assert not store.has_folder("a\0b")
    for question in (store.read, store.open_input):
        with pytest.raises((StorageError, NotFoundError)) as caught:
            question(path)
        assert len(str(caught.value)) < 1000


@contextmanager
def _as_anybody() -> Iterator[None]:
    """The superuser is refused nothing, and is nobody for a while."""
    is_superuser = os.geteuid() == 0
    if is_superuser:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_superuser:
            os.seteuid(0)


def test_refused_folder_is_told_as_refused() -> None:
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        log = LogFolder(Path(place) / "t")
        log.commit(0, [PROTOCOL, metadata()])
        with _as_anybody():
            assert explorer.open_table(log.root).snapshot().version == 0
        log.log.chmod(0)
        with pytest.raises(DeltaError) as caught, _as_anybody():
            explorer.open_table(log.root).snapshot()
        log.log.chmod(0o700)
    assert caught.value.kind == "storage_refused"


def test_deleting_what_is_gone_is_no_error(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    store.write("f", b"x")
    store.delete("f")
    store.delete("f")
    assert store.list_names("") == []


def test_write_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    store.write("deep/f", b"old")
    store.write("deep/f", b"new")
    assert store.read("deep/f") == b"new"
    assert os.listdir(tmp_path / "deep") == ["f"]


@pytest.mark.rule("log-never-overwrite")
def test_put_if_absent_never_replaces(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    assert store.put_if_absent("log/f", b"first") is PutOutcome.CREATED
    assert store.put_if_absent("log/f", b"second") is PutOutcome.ALREADY_THERE
    assert store.read("log/f") == b"first"
    assert os.listdir(tmp_path / "log") == ["f"]


def _put(root: str, name: str, rounds: int, start: object, answers: object) -> None:
    """Put every number of `rounds` under its own path; the numbers that were won."""
    store = LocalStore(root)
    start.wait()  # type: ignore[attr-defined]
    data = f"{name}\n".encode() * 1000
    won = [
        number
        for number in range(rounds)
        if store.put_if_absent(f"_delta_log/{number:020}.json", data) is PutOutcome.CREATED
    ]
    answers.put((name, won))  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.rule("log-atomic-primitives", "older-003-atomic-exclusive")
def test_of_racing_processes_exactly_one_creates(tmp_path: Path) -> None:
    rounds, names = 40, ("one", "two", "three")
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(len(names)), context.Queue()
    racers = [
        context.Process(target=_put, args=(str(tmp_path), name, rounds, start, answers))
        for name in names
    ]
    for racer in racers:
        racer.start()
    won = dict(answers.get(timeout=60) for _ in names)
    for racer in racers:
        racer.join(60)
    assert sorted(number for numbers in won.values() for number in numbers) == list(range(rounds))
    for name, numbers in won.items():
        for number in numbers:
            held = (tmp_path / f"_delta_log/{number:020}.json").read_text()
            assert held == f"{name}\n" * 1000
    assert len(os.listdir(tmp_path / "_delta_log")) == rounds
