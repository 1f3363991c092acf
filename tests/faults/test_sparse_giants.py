"""A file that is small in every sound table, made sparse and very large: a clear problem, and
no memory for it. Its writer pays nothing for 400 MB of nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import explorer.inspect as look
from explorer.errors import InvalidArgumentError, UnusableCheckpointError
from explorer.files.events import read_events
from explorer.log.checkpoint import parquet_part, read
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.checkpoint_writing._last_checkpoint_writer import write_hint
from explorer.log.checkpoint_writing.classic_copy import write_classic_copy
from explorer.log.folder.last_checkpoint import read_hint
from explorer.log.small_file import LARGEST_CHECKSUM, LARGEST_HINT
from explorer.maintenance import (
    StateFolder,
    plan_checkpoint,
    plan_log_cleanup,
    plan_repair,
    plan_vacuum,
)
from explorer.progress import UNWATCHED
from explorer.protocol.last_checkpoint import LastCheckpoint
from explorer.storage.local import LocalStore
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.log.checkpoint_cases import write
from tests.unit.maintenance.lake import Lake
from widgets.session.catalog import read_catalog
from widgets.session.people import read_users
from widgets.session.recents import Recents

_MIB = 2**20
_GIANT = 400 * _MIB
_SMALL = 32 * _MIB
"""What the work itself may take, with what it imports."""


def make_giant(place: Path, start: bytes | None = None) -> Path:
    """A sparse file of 400 MB that begins as it did, or with `start`."""
    if start is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(start)
    os.truncate(place, _GIANT)
    return place


@contextmanager
def at_most(growth: int) -> Iterator[None]:
    """Fail where the block makes this process hold more than `growth` bytes beyond what it
    holds already, even for a moment."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is held now
    before = _status("VmHWM:")
    yield
    grown = _status("VmHWM:") - before
    assert grown < growth, f"{grown >> 20} MiB"


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel does not say")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four versions, the oldest long ago, and a checkpoint of the third."""
    found = Lake(tmp_path)
    for version, age in enumerate((60, 50, 45, 5)):
        first = [FEATURE_PROTOCOL, metadata()] if version == 0 else []
        found.commit(version, [*first, found.add(f"{version}.parquet")], age_days=age)
    files = [found.add(f"{version}.parquet") for version in range(3)]
    found.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(), *files])
    return found


def _show(lake: Lake) -> None:
    look.log_health(lake.table)
    look.log_files(lake.table)


def _describe(lake: Lake) -> None:
    look.describe(lake.table)


def _clean(lake: Lake) -> None:
    assert plan_log_cleanup(lake.table, clock=lake.clock).steps


def _repair_hint(lake: Lake) -> None:
    plan = plan_repair(lake.table, "hint", clock=lake.clock)
    assert [step.kind for step in plan.steps] == ["write_hint"]
    assert lake.execute(plan).status == "completed"
    assert read_hint(lake.table.store).version == 2


def _repair_checkpoint(lake: Lake) -> None:
    os.truncate(lake.log.log / f"{2:020}.checkpoint.parquet", 100)
    lake.log.checkpoint(3, [FEATURE_PROTOCOL, metadata()], form="v2-json")
    assert plan_repair(lake.table, "checkpoint", clock=lake.clock).steps


def _write(lake: Lake) -> None:
    assert write_hint(LocalStore(str(lake.root)), LastCheckpoint(version=1, size=1))


@pytest.mark.parametrize(
    "work",
    [_show, _describe, _clean, _repair_hint, _repair_checkpoint, _write],
    ids=lambda work: work.__name__.strip("_"),
)
def test_giant_hint_is_read_no_further_than_its_limit(
    lake: Lake, work: Callable[[Lake], None]
) -> None:
    make_giant(lake.log.log / "_last_checkpoint", b'{"version":2,"size":5}')
    with at_most(LARGEST_HINT + _SMALL):
        work(lake)


def test_giant_hint_is_a_problem_that_names_it(lake: Lake) -> None:
    make_giant(lake.log.log / "_last_checkpoint", b'{"version":2,"size":5}')
    told = [found for found in look.describe(lake.table)["problems"] if "hint" in found["problem"]]
    assert [(found["kind"], found["place"]) for found in told] == [
        ("checkpoint_unusable", "_last_checkpoint")
    ]
    assert "larger than 16 MiB" in told[0]["reason"]
    assert read_hint(lake.table.store).version is None


def test_giant_checksum_is_read_no_further_than_its_limit_and_told(lake: Lake) -> None:
    make_giant(lake.log.log / f"{3:020}.crc", b'{"numFiles":4')
    with at_most(LARGEST_CHECKSUM + _SMALL):
        problems = look.describe(lake.table)["problems"]
    (told,) = [found for found in problems if found["place"] == f"{3:020}.crc"]
    assert "larger than 64 MiB" in told["reason"]


@pytest.mark.parametrize("start", ["whole", b"", b'{"checkpointMetadata":{"version":3}}\n{"add":'])
def test_giant_checkpoint_in_json_is_read_no_further_than_its_first_nul(
    lake: Lake, start: str | bytes
) -> None:
    files = [lake.add(f"{version}.parquet") for version in range(4)]
    state = [FEATURE_PROTOCOL, metadata(), *files]
    (place,) = lake.log.checkpoint(3, state, form="v2-json", sidecars=1)
    make_giant(place, None if isinstance(start, str) else start)
    with at_most(_SMALL):
        snapshot = lake.table.snapshot()
        assert (snapshot.num_files, snapshot.version) == (4, 3)
        (problem,) = snapshot.problems
        _repair_plan = plan_repair(lake.table, "checkpoint", clock=lake.clock)
    assert (problem.kind, problem.place) == ("checkpoint_unusable", place.name)
    assert "NUL" in problem.reason
    assert _repair_plan.steps[0].kind == "delete_files"


def test_giant_checkpoint_in_json_is_not_copied_under_the_classic_name(lake: Lake) -> None:
    state = [FEATURE_PROTOCOL, metadata()]
    (place,) = lake.log.checkpoint(3, state, form="v2-json")
    files = lake.table.listing().checkpoints[-1]
    make_giant(place)
    with at_most(_SMALL), pytest.raises(UnusableCheckpointError, match="NUL"):
        write_classic_copy(LocalStore(str(lake.root)), files, UNWATCHED)


def test_checkpoint_in_json_that_is_large_without_a_nul_is_read(lake: Lake) -> None:
    tags = {"note": "x" * 20 * _MIB}
    state = [FEATURE_PROTOCOL, metadata(), *(lake.add(f"{at}.parquet") for at in range(4))]
    lake.log.checkpoint(3, [*state, {"txn": {"appId": "a", "version": 1} | tags}], form="v2-json")
    snapshot = lake.table.snapshot()
    assert (snapshot.num_files, snapshot.problems) == (4, ())
    assert snapshot.transactions["a"].version == 1


def test_giant_sidecar_is_a_problem_and_costs_no_memory(lake: Lake) -> None:
    state = [FEATURE_PROTOCOL, metadata(), *(lake.add(f"{at}.parquet") for at in range(4))]
    lake.log.checkpoint(3, state, form="v2-json", sidecars=1)
    (place,) = (lake.log.log / "_sidecars").iterdir()
    make_giant(place)
    with at_most(_SMALL):
        snapshot = lake.table.snapshot()
        assert snapshot.files().num_rows == 4
    (problem,) = snapshot.problems
    assert problem.kind == "checkpoint_unusable"
    assert place.name in problem.problem


@pytest.mark.parametrize("form", ["v2-json", "v2-parquet"])
def test_checkpoint_that_names_endless_sidecars_is_a_problem(
    lake: Lake, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "MOST_SIDECARS", 3)
    monkeypatch.setattr(parquet_part, "MOST_SIDECARS", 3)
    state = [FEATURE_PROTOCOL, metadata(), *(lake.add(f"{at}.parquet") for at in range(4))]
    lake.log.checkpoint(3, state, form=form, sidecars=3)  # type: ignore[arg-type]
    assert not lake.table.snapshot().problems
    for place in lake.log.log.glob(f"{3:020}.checkpoint.*"):
        place.unlink()
    lake.log.checkpoint(3, state, form=form, sidecars=4, rows_per_group=2)  # type: ignore[arg-type]
    files = lake.table.listing().checkpoints[-1]
    with pytest.raises(UnusableCheckpointError, match="sidecars"):
        read_checkpoint(lake.table.store, files)
    snapshot = lake.table.snapshot()
    assert (snapshot.num_files, [found.kind for found in snapshot.problems]) == (
        4,
        ["checkpoint_unusable"],
    )


# --- a log whose first commits are gone is replayed from a checkpoint by a second reader


def _read_every_commit(lake: Lake) -> None:
    table = lake.table
    assert read_events(table.store, table.listing()).first == 3


def _reach(lake: Lake) -> None:
    problem = look.reach_by_files(lake.table).problem or ""
    # of the version before, which only the giant checkpoint could tell
    assert problem.startswith("The files of version 2 were not checked.")


def _foreign(lake: Lake) -> None:
    look.foreign_files(lake.table)


def _vacuum(lake: Lake) -> None:
    plan = plan_vacuum(lake.table, clock=lake.clock)
    assert {found.guard: found.outcome for found in plan.verdicts}["second route"] == "allow"


@pytest.mark.parametrize("giant", ["v2-json", "sidecar", "classic"])
@pytest.mark.parametrize(
    "work", [_read_every_commit, _reach, _foreign, _vacuum], ids=lambda work: work.__name__[1:]
)
def test_giant_checkpoint_at_which_a_log_begins_costs_no_memory(
    lake: Lake, work: Callable[[Lake], None], giant: str
) -> None:
    for place in (*lake.log.log.glob("*.checkpoint.*"), *lake.log.log.glob("*0[0-2].json")):
        place.unlink()
    state = [FEATURE_PROTOCOL, metadata(), *(lake.add(f"{at}.parquet") for at in range(4))]
    lake.log.checkpoint(3, state)
    form = "classic" if giant == "classic" else "v2-json"
    (place,) = lake.log.checkpoint(2, state, form=form, sidecars=int(giant == "sidecar"))  # type: ignore[arg-type]
    if giant == "sidecar":
        (place,) = (lake.log.log / "_sidecars").iterdir()
    make_giant(place)
    with at_most(_SMALL):
        work(lake)


# --- what lies beside the table


@pytest.mark.parametrize("name", ["json", "arrow"])
def test_giant_plan_is_told_as_altered_and_costs_no_memory(lake: Lake, name: str) -> None:
    state = StateFolder(lake.state)
    plan = plan_checkpoint(lake.table, clock=lake.clock)
    state.save_plan(plan)
    make_giant(lake.state / "plans" / f"{plan.digest}.{name}")
    with at_most(64 * _MIB + _SMALL):
        with pytest.raises(InvalidArgumentError, match="cannot be read"):
            state.load_plan(plan.digest)
        (listed,) = state.list_plans()
    assert listed.get("altered", False) is (name == "json")


def test_giant_receipt_is_told_as_altered_and_costs_no_memory(lake: Lake) -> None:
    receipt = lake.execute(plan_checkpoint(lake.table, clock=lake.clock))
    state = StateFolder(lake.state)
    make_giant(lake.state / "receipts" / f"{receipt.id}.json")
    with at_most(64 * _MIB + _SMALL):
        with pytest.raises(InvalidArgumentError, match="cannot be read"):
            state.load_receipt(receipt.id)
        assert state.receipts_by_id() == {receipt.id: None}


def test_giant_journal_stops_the_execution_and_nothing_is_done(lake: Lake) -> None:
    plan = plan_checkpoint(lake.table, clock=lake.clock)
    make_giant(lake.state / "runs" / f"{plan.digest}.journal", b'{"event":"begun"}\n')
    with (
        at_most(64 * _MIB + _SMALL),
        pytest.raises(InvalidArgumentError, match="how far its execution has come"),
    ):
        lake.execute(plan)
    assert len(lake.table.listing().checkpoints) == 1


def test_giant_file_of_settings_is_refused_and_costs_no_memory(tmp_path: Path) -> None:
    with at_most(16 * _MIB + _SMALL):
        with pytest.raises(InvalidArgumentError, match="larger than 16 MiB"):
            read_catalog(make_giant(tmp_path / "catalog.yaml", b"tables: []\n"))
        with pytest.raises(InvalidArgumentError, match="larger than 16 MiB"):
            read_users(make_giant(tmp_path / "users", b""))
        make_giant(tmp_path / "recents.json", b'["/lake"]')
        assert Recents(tmp_path / "recents.json").list() == ()


def test_checkpoint_that_is_written_replaces_a_giant_hint(lake: Lake) -> None:
    make_giant(lake.log.log / "_last_checkpoint", b"")
    with at_most(LARGEST_HINT + 2 * _SMALL):
        assert write(lake.log).is_hinted
    assert read_hint(lake.table.store).version == 3
