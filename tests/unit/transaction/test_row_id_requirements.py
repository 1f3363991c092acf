"""Row ids are never given out twice: what a commit must say of them, and what it is refused."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from explorer.protocol.actions import DomainMetadata
from explorer.protocol.commit_json import Action
from explorer.protocol.features.row_id_high_water_mark import (
    last_row_id,
    parse_domain_high_water_mark,
)
from explorer.transaction.attempt import build_attempt
from explorer.transaction.concurrent_commit import ConcurrentCommit, version_after
from explorer.transaction.read_version import ReadVersion
from explorer.transaction.requirements import check_commit
from explorer.transaction.staged import Promises, StagedCommit
from tests.unit.transaction.stages import (
    PLAIN,
    READ_AT,
    add,
    base,
    batch,
    features,
    metadata,
    only,
    remove,
    stage,
    texts,
    vector,
    winner,
)

ROWS = features("rowTracking", "domainMetadata", readers=["deletionVectors"])
VECTORS = metadata({"delta.enableDeletionVectors": "true"})
WIDE = '{"numRecords":10,"tightBounds":false}'
AGAIN = Promises(recommits=True)
MAX = 2**63 - 1
MARK = "delta.rowTracking"


def upon(mark: int | None = None, **fields: object) -> ReadVersion:
    return base(ROWS, VECTORS, row_id_high_water_mark=mark, **fields)


def counted(number: int) -> str:
    return f'{{"numRecords":{number}}}'


def domain(configuration: str) -> DomainMetadata:
    return DomainMetadata(domain=MARK, configuration=configuration, removed=False)


def in_batches(staged: StagedCommit) -> StagedCommit:
    """The same commit with its files as columns."""
    adds = [item for item in staged.actions if hasattr(item, "modification_time")]
    removes = [item for item in staged.actions if hasattr(item, "deletion_timestamp")]
    return replace(
        staged,
        actions=(),
        adds=tuple(batch("add", one) for one in adds),
        removes=tuple(batch("remove", one) for one in removes),
    )


def both(*actions: Action, **given: object) -> list[StagedCommit]:
    few = stage(*actions, **given)  # type: ignore[arg-type]
    return [few, in_batches(few)]


def made(staged: StagedCommit) -> tuple[dict[str, tuple[int, int]], int | None]:
    """The ids and versions of the files of a commit that is allowed, and the mark it writes."""
    check_commit(staged)
    lines = [orjson.loads(line) for line in b"".join(build_attempt(staged, 1)).splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    marks = [line["domainMetadata"]["configuration"] for line in lines if "domainMetadata" in line]
    ids = {body["path"]: (body["baseRowId"], body["defaultRowCommitVersion"]) for body in adds}
    return ids, orjson.loads(marks[0])["rowIdHighWaterMark"] if marks else None


@pytest.mark.rule("row-write-no-duplicates", "row-write-set-base")
@pytest.mark.parametrize(
    "stats",
    [
        counted(-1),
        counted(-5),
        counted(2**63),
        '{"numRecords":NaN}',
        '{"numRecords":Infinity}',
        '{"numRecords":"5"}',
        '{"numRecords":5,"numRecords":6}',
        '{"numRecords":5,oops}',
        "oops",
    ],
)
def test_a_number_of_rows_that_is_none_gives_no_ids(stats: str) -> None:
    for staged in both(add("a"), add("b", stats=stats), upon=upon(9)):
        told = "1 new file has no numRecords"
        assert any(told in text for text in texts(staged))


@pytest.mark.rule("row-write-set-base")
@pytest.mark.parametrize(
    "stats", ['{"minValues":{"id":NaN},"numRecords":5}', '{"numRecords":5,"x":-Infinity}']
)
def test_a_bound_that_is_no_number_takes_no_number_of_rows_away(stats: str) -> None:
    """Of a file of the log, whose writer wrote what is no JSON."""
    back = Promises(recommits=True)
    for staged in both(add("a", stats=stats), add("b"), upon=upon(9), promises=back):
        assert made(staged) == ({"a": (10, READ_AT + 1), "b": (15, READ_AT + 1)}, 24)


@pytest.mark.rule("row-write-unique-fresh")
@pytest.mark.parametrize(
    ("mark", "numbers", "refused"),
    [
        (None, [MAX], False),
        (MAX - 10, [5, 5], False),
        (MAX - 9, [5, 5], True),
        (None, [MAX, MAX, 5], True),
        (0, [2**62, 2**62], True),
        (MAX - 1, [0], False),
        (MAX, [0], True),
    ],
)
def test_no_id_is_given_beyond_the_highest_that_there_is(
    mark: int | None, numbers: list[int], refused: bool
) -> None:
    files = [add(f"{at}", stats=counted(number)) for at, number in enumerate(numbers)]
    for staged in both(*files, upon=upon(mark)):
        if refused:
            assert "beyond the highest" in only(staged)
        else:
            ids, after = made(staged)
            assert max(first for first, _ in ids.values()) <= MAX
            assert after is None or after <= MAX


BROKEN = {
    "no JSON": "oops",
    "text": '{"rowIdHighWaterMark":"100"}',
    "one of two": '{"rowIdHighWaterMark":"100","highWaterMark":7}',
    "too large": '{"rowIdHighWaterMark":99999999999999999999}',
    "below none": '{"rowIdHighWaterMark":-7}',
    "nothing": "{}",
}


@pytest.mark.rule("row-write-no-duplicates", "row-write-track-high-water-mark")
@pytest.mark.parametrize("configuration", BROKEN.values(), ids=BROKEN)
def test_nobody_gets_an_id_where_the_mark_cannot_be_read(configuration: str) -> None:
    for mark in (None, 9):  # what an action of an older revision says is older than the domain
        read = upon(mark, domains={MARK: domain(configuration)})
        for staged in both(add(), upon=read):
            assert "does not say up to which number" in only(staged)
        claimed = add(base_row_id=0, default_row_commit_version=1)
        assert "does not say up to which number" in only(stage(claimed, upon=read))
        kept = {"base_row_id": 5, "default_row_commit_version": 1}
        marked = add("r", deletion_vector=vector(), stats=WIDE, **kept)
        assert texts(stage(remove("r", **kept), marked, upon=read)) == []
        assert texts(stage(remove("r"), upon=read)) == []
    sound = upon(99, domains={MARK: domain('{"rowIdHighWaterMark":99}')})
    assert texts(stage(add(), upon=sound)) == []


@pytest.mark.rule("row-high-water-mark-spellings")
def test_of_two_marks_the_higher_one_counts() -> None:
    assert parse_domain_high_water_mark('{"rowIdHighWaterMark":7,"highWaterMark":99}') == 99
    assert parse_domain_high_water_mark('{"rowIdHighWaterMark":99,"highWaterMark":null}') == 99


@pytest.mark.rule("row-write-no-duplicates")
@pytest.mark.parametrize("configuration", [*BROKEN.values(), 100, None])
def test_nobody_follows_a_winner_whose_mark_cannot_be_read(configuration: object) -> None:
    mine = stage(add("mine"), upon=upon(9, domains={MARK: domain('{"rowIdHighWaterMark":9}')}))
    won = winner({"domainMetadata": {"domain": MARK, "configuration": configuration}})
    followed = version_after(mine.base, won, None)
    assert followed.row_id_high_water_mark == 9
    assert "does not say up to which number" in only(mine.upon(followed))
    again = version_after(followed, winner(add("other"), version=READ_AT + 2), None)
    assert "does not say up to which number" in only(mine.upon(again))
    mended = version_after(
        again, winner(domain('{"rowIdHighWaterMark":50}'), version=READ_AT + 3), None
    )
    assert made(mine.upon(mended)) == ({"mine": (51, READ_AT + 4)}, 60)


def as_columns(won: ConcurrentCommit) -> ConcurrentCommit:
    assert won.adds.num_rows == won.add_rows.num_rows
    assert won.add_rows.bodies is None
    return won


@pytest.mark.rule("row-write-no-duplicates", "row-write-high-water-mark-at-least")
@pytest.mark.parametrize(
    ("stats", "mark"),
    [
        (counted(91), 100),
        (counted(0), 9),
        (None, 10),
        (counted(-3), 10),
        ('{"numRecords":NaN}', 10),
        ('{"x":NaN,"numRecords":91}', 100),
        (counted(MAX), MAX),
    ],
)
def test_ids_of_a_winner_count_though_it_writes_no_mark(stats: str | None, mark: int) -> None:
    given = {"base_row_id": 10, "default_row_commit_version": READ_AT + 1}
    old = add("old", base_row_id=0, stats=counted(10))
    files = [add("w", stats=stats, **given), add("plain"), old]
    few, many = winner(*files), as_columns(winner(*files))
    assert few.add_rows.bodies is not None
    for won in (few, many):
        assert version_after(upon(9), won, None).row_id_high_water_mark == mark
        assert (
            version_after(base(PLAIN, row_id_high_water_mark=9), won, None).row_id_high_water_mark
            == 9
        )
    lower = winner(domain('{"rowIdHighWaterMark":5}'), *files)
    assert version_after(upon(9), lower, None).row_id_high_water_mark == mark
    assert version_after(upon(), winner(add("plain")), None).row_id_high_water_mark is None


def test_the_last_id_of_a_file_is_no_higher_than_the_highest_that_there_is() -> None:
    assert last_row_id(5, counted(100)) == 104
    assert last_row_id(MAX - 1, counted(100)) == MAX
    assert last_row_id(MAX, None) == MAX


@pytest.mark.rule("row-write-no-duplicates")
def test_all_ids_that_a_file_comes_with_were_given_out() -> None:
    came = {"base_row_id": 5, "default_row_commit_version": 2}
    for staged in both(add(stats=counted(100), **came), upon=upon(9)):
        assert "last rows of a file" in only(staged)
        # what is written anew alone was never there
        assert texts(replace(staged, promises=AGAIN)) == []
    for staged in both(add(stats=counted(100), **came), upon=upon(104)):
        assert texts(staged) == []
    for staged in both(add(stats=counted(MAX), **came), upon=upon(104)):
        assert "last rows of a file" in only(staged)
    assert texts(stage(add(stats=None, **came), upon=upon(9))) == []


@pytest.mark.rule("row-write-no-duplicates", "row-write-recommit-base")
def test_a_file_without_rows_may_come_back() -> None:
    empty = add(stats=counted(0))
    ids, after = made(stage(empty, upon=upon(9)))
    assert (ids, after) == ({"a.parquet": (10, READ_AT + 1)}, None)
    known = replace(empty, base_row_id=10, default_row_commit_version=READ_AT)
    for staged in both(known, upon=upon(9)):
        assert texts(staged) == []
    beyond = replace(known, base_row_id=11)
    assert "never given out" in only(stage(beyond, upon=upon(9)))


@pytest.mark.rule("row-write-recommit-base", "row-write-recommit-commit-version")
@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({}, False),
        ({"base_row_id": 0}, True),
        ({"default_row_commit_version": 3}, True),
    ],
    ids=["the same", "another id", "another version"],
)
def test_a_file_whose_vector_changes_keeps_its_ids(given: dict, refused: bool) -> None:
    had = {"base_row_id": 40, "default_row_commit_version": 2}
    marked = add("x", deletion_vector=vector(), stats=WIDE, **(had | given))
    for staged in both(remove("x", **had), marked, upon=upon(99)):
        if refused:
            assert "other row ids or versions than before" in only(staged)
        else:
            assert made(staged) == ({"x": (40, 2)}, None)
        # a restore goes back to what a version said
        assert texts(replace(staged, promises=AGAIN)) == []
        # a remove that does not say its ids is no witness
        bare = replace(staged, removes=(batch("remove", remove("x")),), actions=())
        assert texts(replace(bare, adds=(batch("add", marked),))) == []


@pytest.mark.rule("row-write-recommit-base", "row-write-recommit-commit-version")
def test_a_file_that_comes_again_without_ids_has_those_that_it_had() -> None:
    had = {"base_row_id": 40, "default_row_commit_version": 2}
    marked = {"deletion_vector": vector(), "stats": WIDE}
    back = [remove("a", **had), add("a", **marked), remove("y"), add("y", **marked)]
    for staged in both(add("new"), *back, upon=upon(99)):
        for promises in (Promises(), AGAIN):
            ids, after = made(replace(staged, promises=promises))
            assert ids == {"a": (40, 2), "new": (100, READ_AT + 1), "y": (110, READ_AT + 1)}
            assert after == 119


def test_nothing_is_counted_of_a_file_that_keeps_its_ids() -> None:
    had = {"base_row_id": 40, "default_row_commit_version": 2, "deletion_vector": vector()}
    for staged in both(remove("x", **had), add("x", stats=None), upon=upon(99)):
        assert made(staged) == ({"x": (40, 2)}, None)


@pytest.mark.rule("row-write-no-duplicates", "row-write-high-water-mark-at-least")
def test_odd_files_change_as_others_do_and_new_ids_are_above_theirs() -> None:
    had = {"base_row_id": 500, "default_row_commit_version": 2}
    marked = add("odd", deletion_vector=vector(), stats=WIDE, **had)
    for staged in both(remove("odd", **had), marked, add("new"), upon=upon(9)):
        ids, after = made(staged)
        assert (ids["new"], after) == ((510, READ_AT + 1), 519)
    for staged in both(remove("odd", **had), marked, upon=upon(9)):
        assert made(staged) == ({"odd": (500, 2)}, None)
    assert texts(stage(remove("odd", base_row_id=-4), upon=upon())) == []
    assert "never given out" in only(stage(marked, upon=upon(9)))


def test_ids_of_removes_mean_nothing_while_row_tracking_is_suspended() -> None:
    suspended = metadata({**VECTORS.configuration, "delta.rowTrackingSuspended": "true"})
    read = base(ROWS, suspended, row_id_high_water_mark=99)
    had = {"base_row_id": 40, "default_row_commit_version": 2}
    bare = add("x", deletion_vector=vector(), stats=WIDE)
    for staged in both(remove("x", **had), bare, upon=read):
        assert texts(staged) == []
        lines = [orjson.loads(line) for line in b"".join(build_attempt(staged, 1)).splitlines()]
        (body,) = (line["add"] for line in lines if "add" in line)
        assert "baseRowId" not in body
