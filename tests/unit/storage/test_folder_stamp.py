"""Whether a folder still holds the names that it held when it was listed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.storage._folder_stamp import read_folder_stamp
from explorer.storage.local import LocalStore
from explorer.storage.ports import StampedStore

# as a look long after the last change
_LATER_NS = time.time_ns() + 10**15


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files."""
    made = tmp_path / "log"
    made.mkdir()
    for name in ("a", "b"):
        (made / name).write_text(name, encoding="utf-8")
    return made


def _mounts(folder: Path, kind: str) -> str:
    """A table of mounts in which the device of `folder` is of a kind."""
    device = folder.stat().st_dev
    lines = [
        "22 27 0:999 / /proc rw,relatime - proc proc rw",
        f"23 27 {os.major(device)}:{os.minor(device)} / / rw shared:1 master:2 - {kind} /dev/a rw",
    ]
    file = folder.parent / "mountinfo"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


_CHANGES: dict[str, Callable[[Path], object]] = {
    "a name comes": lambda folder: (folder / "c").touch(),
    "a name goes": lambda folder: (folder / "a").unlink(),
    "a name is another": lambda folder: (folder / "a").rename(folder / "c"),
    "a file takes the place of one": lambda folder: (folder / "b").rename(folder / "a"),
    "a link comes": lambda folder: (folder / "c").hardlink_to(folder / "a"),
    "a folder comes": lambda folder: (folder / "c").mkdir(),
    "it is made anew": lambda folder: (folder.rename(folder.with_name("old")), folder.mkdir()),
}


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_stamp_changes_with_the_names(folder: Path, change: Callable[[Path], object]) -> None:
    mounts = _mounts(folder, "ext4")
    before = read_folder_stamp(str(folder), _LATER_NS, mounts)
    assert before is not None
    assert read_folder_stamp(str(folder), _LATER_NS, mounts) == before
    times = folder.stat()
    time.sleep(0.02)  # the clock of a file system goes on in steps of some milliseconds
    change(folder)
    # as tools do that copy folders with their times
    os.utime(folder, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert read_folder_stamp(str(folder), _LATER_NS, mounts) != before


def test_folder_that_changed_just_before_it_was_listed_has_no_stamp(folder: Path) -> None:
    mounts = _mounts(folder, "xfs")
    found = folder.stat()
    changed_ns = max(found.st_mtime_ns, found.st_ctime_ns)
    # two changes within one second of a coarse clock look like one
    assert read_folder_stamp(str(folder), changed_ns + 1_999_999_999, mounts) is None
    assert read_folder_stamp(str(folder), changed_ns + 2_000_000_000, mounts) is not None
    assert read_folder_stamp(str(folder), changed_ns - 1, mounts) is None


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "virtiofs", "fuse.s3fs", "fuse", "btrfs"])
def test_file_system_that_tells_late_or_never_is_not_relied_on(folder: Path, kind: str) -> None:
    assert read_folder_stamp(str(folder), _LATER_NS, _mounts(folder, kind)) is None


def test_file_system_that_is_not_known_is_not_relied_on(folder: Path) -> None:
    empty = folder.parent / "mountinfo"
    empty.touch()
    assert read_folder_stamp(str(folder), _LATER_NS, str(empty)) is None
    assert read_folder_stamp(str(folder), _LATER_NS, str(folder / "no such file")) is None


def test_local_store_has_stamps(folder: Path) -> None:
    store = LocalStore(str(folder.parent))
    assert isinstance(store, StampedStore)
    assert store.folder_stamp("log", 0) is None
    assert store.folder_stamp("log", _LATER_NS) == read_folder_stamp(str(folder), _LATER_NS)
