"""Steps come back from their documents as they were, each tied to the very step that it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import orjson
import pytest

from explorer.log.folder.listing import CheckpointFiles
from explorer.maintenance import Plan
from explorer.maintenance.plan._step_documents import parse_steps, render_step
from explorer.maintenance.plan.step_types import (
    Aim,
    Commit,
    CommitBasis,
    CommitRecord,
    CopyCheckpoint,
    DeleteFiles,
    FileChanges,
    GivenRowIds,
    MissingFiles,
    NeededFile,
    RepairStatistics,
    RestoredFiles,
    RewriteFiles,
    Step,
    TakenRowIds,
    ValidateRows,
    ValidateTraces,
    VectorTombstones,
    WriteCheckpoint,
    WriteChecksum,
    WriteCompaction,
    WriteHint,
    references_of,
)
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.transaction.staged import ValidatedRule
from tests.unit.maintenance.test_guards_of_every_plan import PLANNERS, build

SEED = UUID(int=7)
ROWS = ValidateRows(id="rows", reason="r", num_files=3, num_bytes=9, expressions={"a": "id > 0"})
TRACES = ValidateTraces(id="traces", reason="r", feature="deletionVectors")
START = Commit(
    id="start",
    reason="It begins.",
    record=CommitRecord(
        operation="VACUUM START",
        transaction_id="t1",
        parameters={"text": "a", "number": 1, "truth": True, "nothing": None},
        metrics={"n": "1"},
    ),
)
DELETION = DeleteFiles(
    id="deletion",
    reason="r",
    num_files=2,
    needs=(NeededFile(path="_delta_log/a", size=5),),
    broken=(CheckpointFiles(version=3, kind="v2", names=("x", "y")),),
    announced_by=START,
)
END = Commit(
    id="end",
    reason="r",
    record=CommitRecord(operation="VACUUM END", transaction_id="t2"),
    basis=CommitBasis(
        reads="every row",
        upon=ROWS,
        validated=(ValidatedRule(key="k", expression="e"),),
        dropped_feature="x",
        unused_features=("y", "z"),
    ),
    actions=(
        Protocol(min_reader_version=3, min_writer_version=7, reader_features=("a",)),
        Metadata(id="m", configuration={"a": "b"}, unknown_fields={"odd": [1]}),
        DomainMetadata(domain="d", configuration="{}", removed=True),
    ),
    counts=DELETION,
    protects_history=True,
)
REWRITE = RewriteFiles(
    id="batch 1",
    reason="r",
    transaction_id="t3",
    parameters={"predicate": "[]"},
    aim=Aim(
        where="id > 0",
        target_size=9,
        purge=False,
        columns=(("a", "b"),),
        names=("a.b",),
        batch_size=7,
    ),
    batch=0,
    num_groups=2,
    groups_sha256="0" * 64,
    seed=SEED,
)
REPAIR = RepairStatistics(id="batch 2", reason="r", transaction_id="t4", first=7)
EVERY: tuple[Step, ...] = (
    ROWS,
    TRACES,
    START,
    DELETION,
    END,
    REWRITE,
    REPAIR,
    WriteChecksum(id="c1", reason="r", of=START),
    WriteChecksum(id="c2", reason="r", of=REPAIR),
    WriteCheckpoint(id="p1", reason="r", of=REWRITE, seed=SEED, every=10),
    WriteCheckpoint(id="p2", reason="r", of=4, seed=SEED),
    CopyCheckpoint(id="copy", reason="r", version=4),
    WriteCompaction(id="compaction", reason="r", first=1, last=4),
    WriteHint(id="hint", reason="r", version=4, size=9, parts=2),
    WriteHint(id="hint 2", reason="r", version=4, size=9, parts=None),
)
FILES: tuple[FileChanges, ...] = (
    RestoredFiles(version=4),
    GivenRowIds(),
    TakenRowIds(),
    VectorTombstones(),
    MissingFiles(paths=("a", "b")),
)


def documents_of(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads(orjson.dumps([render_step(one) for one in steps]))
    return found


def check_come_back(steps: tuple[Step, ...]) -> None:
    documents = documents_of(steps)
    found = parse_steps(documents)
    assert found == steps
    assert documents_of(found) == documents
    for step in found:
        assert all(any(held is one for one in found) for held in references_of(step))


def test_step_of_every_kind_comes_back() -> None:
    assert {type(step) for step in EVERY} == set(get_args(Step))
    check_come_back(EVERY)


def test_files_of_every_description_come_back() -> None:
    assert {type(files) for files in FILES} == set(get_args(FileChanges))
    for files in FILES:
        check_come_back((replace(START, files=files),))


@pytest.mark.parametrize("name", PLANNERS)
def test_steps_of_every_plan_come_back(tmp_path: Path, name: str) -> None:
    lake = build(tmp_path)
    if name == "repair files":
        (lake.root / "4.parquet").unlink()
    if name == "repair checkpoint":
        lake.log.write(f"{3:020}.checkpoint.parquet", b"no checkpoint")
    plan = PLANNERS[name](lake)
    assert plan.steps
    check_come_back(plan.steps)


def places_in(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value inside of a document."""
    below = value.items() if isinstance(value, dict) else enumerate(value)
    for key, found in below:
        yield (*way, key)
        if isinstance(found, dict | list):
            yield from places_in(found, (*way, key))


STRANGE = [None, 1, -1, 1.5, True, "x", [], {}, [1], [None], {"a": 1}]


def test_document_that_is_none_is_no_bug() -> None:
    """Nothing but what makes a plan an altered one."""
    for place in list(places_in(documents_of(EVERY))):
        for value in STRANGE:
            documents: Any = documents_of(EVERY)
            holder = documents
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = value
            try:
                parse_steps(documents)
            except (AttributeError, KeyError, TypeError, ValueError):
                continue


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"kind": "drop_table"}, ValueError),
        ({"kind": ["commit"]}, ValueError),
        ({"arguments": {"of_step": "end"}}, KeyError),
        ({"arguments": {"of_step": 0}}, TypeError),
        ({"arguments": {"of_step": "deletion"}}, TypeError),
        ({"num_files": True}, TypeError),
    ],
    ids=["unknown kind", "no kind", "later step", "position", "no commit", "no number"],
)
def test_step_that_is_none_is_refused(change: dict[str, Any], error: type[Exception]) -> None:
    checksum = WriteChecksum(id="checksum", reason="r", of=START)
    documents = documents_of((START, DELETION, checksum))
    documents[-1].update(change)
    with pytest.raises(error):
        parse_steps(documents)


@pytest.mark.parametrize(
    "steps",
    [
        (START, START),
        (DELETION, START),
        (START, WriteChecksum(id="checksum", reason="r", of=replace(START))),
        (WriteChecksum(id="checksum", reason="r", of=START),),
    ],
    ids=["twice one name", "later step", "another one of that name", "step of no plan"],
)
def test_plan_holds_steps_that_build_upon_earlier_ones_of_its_own(
    tmp_path: Path, steps: tuple[Step, ...]
) -> None:
    plan: Plan = PLANNERS["set"](build(tmp_path))
    with pytest.raises(ValueError, match=r"before it|two steps"):
        replace(plan, steps=steps)
