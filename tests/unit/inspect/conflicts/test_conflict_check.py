"""What came since a version is held against whoever read it, while somebody looks on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import CancelledError
from explorer.progress import Cancel, Progress
from tests.tables import PROTOCOL, Action, LogFolder, add, metadata, remove

MANY = 40
ASKING, LOOKING, TIMES = (
    "Asking each file",
    "Reading the commits since",
    "Asking when they were made",
)


def numbered(number: int) -> Action:
    """A file whose ids are all `number`."""
    bound = {"id": number}
    stats: dict[str, Any] = {"numRecords": 1, "minValues": bound, "maxValues": bound}
    return add(f"f{number}", stats=json.dumps(stats | {"nullCount": {"id": 0}}))


@pytest.fixture(params=["commits", "checkpoint"])
def log(tmp_path: Path, request: pytest.FixtureRequest) -> LogFolder:
    log = LogFolder(tmp_path / "orders")
    first = [PROTOCOL, metadata(), *map(numbered, range(MANY))]
    log.commit(0, first)
    if request.param == "checkpoint":
        log.checkpoint(0, first)
    log.commit(1, [remove("f3")])
    log.commit(2, [remove("file:/elsewhere/f4"), numbered(MANY)])
    log.commit(3, [remove(f"f{number}") for number in range(5, MANY)])
    return log


@pytest.mark.parametrize(
    ("where", "met"),
    [
        ("id < 4", [(1, "concurrent delete-read", 1)]),
        ("id = 4", []),
        # the one file that was read is looked for among many, and many among a few
        ("id = 7", [(3, "concurrent delete-read", 1)]),
        (
            "id >= 3",
            [
                (1, "concurrent delete-read", 1),
                (2, "concurrent append", 1),
                (3, "concurrent delete-read", MANY - 5),
            ],
        ),
        ("id > 1000", []),
    ],
)
def test_files_that_were_read_conflict_in_whichever_commit_they_go(
    log: LogFolder, where: str, met: list[tuple[int, str, int]]
) -> None:
    found = look.check_conflicts(explorer.open_table(log.root), 0, where=where)
    assert [(one.version, one.rule, one.overlap.total) for one in found.found] == met


def test_every_part_of_the_answer_is_told_and_can_be_stopped(log: LogFolder) -> None:
    def ask(**watch: Any) -> None:
        look.check_conflicts(explorer.open_table(log.root), 0, where="id >= 3", **watch)

    seen: list[Progress] = []
    ask(progress=seen.append)
    assert {step.label for step in seen} >= {ASKING, LOOKING, TIMES}
    assert [step.done for step in seen if step.label == LOOKING] == [0, 1, 2]
    for label in (ASKING, LOOKING, TIMES):
        cancel = Cancel()

        def stop(step: Progress, at: str = label, cancel: Cancel = cancel) -> None:
            if step.label == at:
                cancel.cancel()

        with pytest.raises(CancelledError):
            ask(progress=stop, cancel=cancel)
