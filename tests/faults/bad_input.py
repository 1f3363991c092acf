"""Everything that may be wrong with what is opened, as a list of cases.

Each builds its place below a scratch folder and says how opening it must end:
refused with one clear error, or answered, perhaps with a `Problem`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.faults.bad_lines import DEEP, LINES, nested, wrong_types
from tests.faults.case import Answered, Case, Refused, changed, drop, state_at_1, three_versions
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, commit_name

# --- the place -----------------------------------------------------------------


def _file(root: Path) -> Path:
    place = root / "table"
    place.write_text("no folder")
    return place


def _folder(root: Path) -> Path:
    place = root / "table"
    place.mkdir()
    return place


def _log_is_a_file(root: Path) -> Path:
    place = _folder(root)
    (place / "_delta_log").write_text("")
    return place


def _empty_log(root: Path) -> Path:
    return LogFolder(root / "table").root


def _stray_log(root: Path) -> Path:
    log = LogFolder(root / "table")
    for name in ("x.json", f"{0:019}.json", f"{0:020}.crc", ".tmp", f"{1:020}.json.tmp"):
        log.write(name, "{}")
    (log.log / commit_name(0)).mkdir()
    return log.root


def _half_checkpoint_only(root: Path) -> Path:
    log = LogFolder(root / "table")
    log.checkpoint(0, state_at_1(), form="multi-part")[1].unlink()
    return log.root


PLACES = [
    Case(
        name="path that does not exist",
        build=lambda root: root / "nothing",
        ends=Refused(kind="table_not_found"),
    ),
    Case(name="file instead of a folder", build=_file, ends=Refused(kind="table_not_found")),
    Case(
        name="path of 10,000 characters",
        build=lambda root: root / ("n" * 10_000),
        ends=Refused(kind="table_not_found"),
    ),
    Case(
        name="path with a NUL",
        build=lambda root: f"{root}/a\0b",
        ends=Refused(kind="invalid_argument"),
    ),
    Case(name="empty path", build=lambda _: "", ends=Refused(kind="invalid_argument")),
    Case(
        name="scheme that nobody knows",
        build=lambda _: "nosuch://bucket/table",
        ends=Refused(kind="invalid_argument"),
    ),
    Case(name="folder without _delta_log", build=_folder, ends=Refused(kind="table_not_found")),
    Case(name="_delta_log is a file", build=_log_is_a_file, ends=Refused(kind="table_not_found")),
    Case(name="empty log", build=_empty_log, ends=Refused(kind="log_empty")),
    Case(name="log of stray files", build=_stray_log, ends=Refused(kind="log_empty")),
    Case(
        name="half a checkpoint and nothing else",
        build=_half_checkpoint_only,
        ends=Refused(kind="log_gap", words=("lacks parts",)),
    ),
]


# --- gaps, versions, times -----------------------------------------------------


def _covered_gap(log: LogFolder) -> None:
    log.checkpoint(1, state_at_1(FEATURE_PROTOCOL))
    (log.log / commit_name(0)).unlink()


def _gap_after_checkpoint(root: Path) -> Path:
    log = three_versions(root)
    log.checkpoint(1, state_at_1())
    log.commit(4, [add("e")])
    return log.root


RANGES = [
    Case(name="gap", build=drop(1), ends=Refused(kind="log_gap", words=("1 is missing",))),
    Case(name="first commit gone", build=drop(0), ends=Refused(kind="log_gap", words=("0 is",))),
    Case(name="gap behind a checkpoint", build=changed(_covered_gap), ends=Answered(files=3)),
    Case(
        name="gap after a checkpoint",
        build=_gap_after_checkpoint,
        ends=Refused(kind="log_gap", words=("3 is missing",)),
    ),
    Case(
        name="version before a gap",
        build=_gap_after_checkpoint,
        at={"version": 2},
        ends=Answered(files=3),
    ),
    Case(
        name="version inside a gap",
        build=_gap_after_checkpoint,
        at={"version": 3},
        ends=Refused(kind="log_gap"),
    ),
    *(
        Case(
            name=f"version {version}",
            build=changed(lambda _: None),
            at={"version": version},
            ends=Refused(kind="version_not_found", words=("0 to 2",)),
        )
        for version in (-1, 3, 2**63, 2**70, -(2**70))
    ),
    *(
        Case(
            name=f"time {time}",
            build=changed(lambda _: None),
            at={"timestamp": time},
            ends=Refused(kind="timestamp_out_of_range"),
        )
        for time in ("1999-12-31T00:00:00Z", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00Z")
    ),
    *(
        Case(
            name=f"no time: {time[:20]}",
            build=changed(lambda _: None),
            at={"timestamp": time},
            ends=Refused(kind="invalid_argument"),
        )
        for time in ("2026-11-01", "2026-11-01T00:00:00", "", "yesterday", "9" * 100_000)
    ),
]


# --- files beside the commits ----------------------------------------------------


def link_to_itself(log: LogFolder) -> None:
    """The commit of version 2 is a symbolic link that leads nowhere."""
    place = log.log / commit_name(2)
    place.unlink()
    os.symlink(place.name, place)


BROKEN_FILES = [
    Case(
        name="commit that the file system cannot read",
        build=changed(link_to_itself),
        ends=Refused(kind="storage_failed"),
    ),
]

HINTS: dict[str, bytes | str] = {
    "empty": "",
    "not JSON": "{",
    "an array": "[1]",
    "not UTF-8": b"\xff\xfe",
    "stale": '{"version":0,"size":3}',
    "beyond the log": '{"version":99,"size":3}',
    "of wrong types": '{"version":"x","size":[]}',
    "nested deep": nested(DEEP),
    "with parts that are not there": '{"version":1,"size":3,"parts":7}',
    "with a wrong checksum": '{"version":1,"size":3,"checksum":"00"}',
}


def hints() -> Iterator[Case]:
    """`_last_checkpoint` in every bad state, with and without its checkpoint."""
    for what, data in HINTS.items():

        def change(log: LogFolder, data: bytes | str = data) -> None:
            log.checkpoint(1, state_at_1(FEATURE_PROTOCOL))
            log.write("_last_checkpoint", data)

        yield Case(name=f"hint that is {what}", build=changed(change), ends=Answered(files=3))


def _folder_as_hint(log: LogFolder) -> None:
    (log.log / "_last_checkpoint").mkdir()


HINT_FOLDER = Case(
    name="hint that is a folder", build=changed(_folder_as_hint), ends=Answered(files=3)
)

CASES: list[Case] = [
    *PLACES,
    *RANGES,
    *LINES,
    *wrong_types(),
    *BROKEN_FILES,
    *hints(),
    HINT_FOLDER,
]
