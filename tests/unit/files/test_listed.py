"""What lies below a table's root, as columns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.files.listed import list_files
from explorer.storage.local import LocalStore
from explorer.storage.tree import FolderPiece

ODD_NAMES = [
    "plain.parquet",
    "x=1/plain.parquet",
    "x=ä/é.parquet",
    "x=ä/plain.parquet",
    "x=1/ж😀.parquet",
    "x=1/two\nlines.parquet",
    "x=a%20b/y= /part 0.parquet",
    'x=1/a\\b".parquet',
    "x=1/%E4.parquet",
    "empty\n/deeper/z",
]


def test_paths_are_those_that_the_system_has(tmp_path: Path) -> None:
    for name in ODD_NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "left out.json").touch()
    listed = list_files(LocalStore(str(tmp_path)))
    listed.paths.validate(full=True)
    assert sorted(listed.paths.to_pylist()) == sorted(ODD_NAMES)
    assert listed.others == ()
    assert listed.folders == 7


def test_what_is_no_plain_file_or_no_text_is_told_apart(tmp_path: Path) -> None:
    inside = tmp_path / "x=1"
    inside.mkdir()
    (inside / "ä.parquet").touch()
    (inside / "link.parquet").symlink_to(inside / "ä.parquet")
    (inside / "folder.parquet").mkdir()
    (inside / "folder.parquet" / "deeper.parquet").touch()
    (inside / "linked").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe.parquet")
    odd = os.fsencode(inside) + b"/bytes-\xff.parquet"
    Path(os.fsdecode(odd)).touch()
    Path(os.fsdecode(os.fsencode(inside) + b"/folder-\xff")).mkdir()
    listed = list_files(LocalStore(str(tmp_path)))
    listed.paths.validate(full=True)
    assert sorted(listed.paths.to_pylist()) == [
        "x=1/folder.parquet/deeper.parquet",
        "x=1/ä.parquet",
    ]
    assert sorted(listed.others) == [
        "x=1/bytes-\ufffd.parquet",
        "x=1/folder-\ufffd",
        "x=1/link.parquet",
        "x=1/linked",
        "x=1/pipe.parquet",
    ]


class _Large(LocalStore):
    """A folder of very many files."""

    def __init__(self, names: list[str]) -> None:
        super().__init__("/nowhere")
        self._names = names

    def list_pieces(self, folder: str) -> Iterator[FolderPiece]:
        if folder:
            yield FolderPiece(folder=folder, folders=[], files=self._names, others=[])
        else:
            yield FolderPiece(folder="", folders=["p=ö", "q"], files=self._names, others=[])


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", "é"])
def test_more_files_than_fit_into_one_chunk(ending: str) -> None:
    names = [f"{number}{ending}" for number in range(150_000)]
    listed = list_files(_Large(names)).paths
    listed.validate(full=True)
    assert listed.to_pylist() == [start + name for start in ("", "p=ö/", "q/") for name in names]
