"""Files of a log that were read once are not asked for again while they are the same."""

from __future__ import annotations

from dataclasses import replace

from explorer.log.folder.files_read import FilesRead
from explorer.protocol.filenames import render_commit_name
from explorer.storage.ports import ObjectInfo


def _info(version: int, size: int = 10) -> ObjectInfo:
    return ObjectInfo(name=render_commit_name(version), size=size, modified_ms=7, tag="a")


def test_file_is_known_by_its_tag_size_and_time() -> None:
    read, info = FilesRead(), _info(3)
    read.keep(info, b"0123456789")
    assert read.find(_info(3)) == b"0123456789"
    for other in (replace(info, tag="b"), replace(info, modified_ms=8), replace(info, size=9)):
        assert read.find(other) is None
    assert read.find(_info(4)) is None
    read.release()
    assert (read.find(info), read.held_bytes) == (None, 0)


def test_nothing_is_kept_of_a_store_without_tags_nor_of_a_file_of_another_length() -> None:
    read = FilesRead()
    read.keep(replace(_info(3), tag=""), b"0123456789")
    read.keep(_info(4), b"012345678")
    assert (read.find(replace(_info(3), tag="")), read.find(_info(4))) == (None, None)
    assert read.held_bytes == 0


def test_end_of_a_file_is_another_thing_than_the_file() -> None:
    read, info = FilesRead(), _info(3)
    read.keep(info, b"789", (7, 10))
    read.keep(info, b"89", (7, 10))  # shorter than what was asked for
    assert (read.find(info, (7, 10)), read.find(info), read.find(info, (8, 10))) == (
        b"789",
        None,
        None,
    )
    read.keep(info, b"0123456789")
    assert (read.find(info, (7, 10)), read.find(info), read.held_bytes) == (
        b"789",
        b"0123456789",
        13,
    )


def test_newest_commits_stay_in_whatever_order_they_are_read() -> None:
    for order in (range(20), range(19, -1, -1), (5, 19, 18, 0, 17, 18, 19)):
        read = FilesRead(most_bytes=35)
        for version in order:
            read.keep(_info(version), b"0123456789")
        kept = [version for version in range(20) if read.find(_info(version)) is not None]
        assert (kept, read.held_bytes) == ([17, 18, 19], 30)
    read.keep(_info(30, size=36), b"x" * 36)  # longer than all that may be kept
    assert read.held_bytes == 30
