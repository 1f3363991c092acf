"""The commit loop where others were first, or the log is no longer what was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

import explorer
from explorer.errors import ConflictError, CorruptLogError, StorageError, UnsupportedError
from explorer.protocol.actions import Metadata
from explorer.protocol.commit_json import Action, render_action, render_lines
from explorer.storage.local import LocalStore
from explorer.storage.ports import ByteRange, Content, ObjectInfo, PutOutcome, WriteStore
from explorer.transaction.commit import Committed, Retries, commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE
from explorer.transaction.read_version import NO_TABLE, ReadVersion, read_version_of
from tests.unit.transaction.stages import add, batch, features, metadata, remove, stage

TRACKED = features("appendOnly", "rowTracking", "domainMetadata")
AT_ONCE = Retries(limit=50, pause=lambda _: None)


class Meddled(LocalStore):
    """A local store on which something happens before or after its first put."""

    def __init__(
        self,
        root: str,
        before: Callable[[], object] = lambda: None,
        after: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(root)
        self._before, self._after = [before], [after]

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        while self._before:
            self._before.pop()()
        outcome = super().put_if_absent(path, data)
        while self._after:
            self._after.pop()()
        return outcome


def commit_path(version: int) -> str:
    return f"_delta_log/{version:020}.json"


def lines_of(store: WriteStore, version: int) -> list[dict]:
    return [orjson.loads(line) for line in store.read(commit_path(version)).splitlines()]


def append(store: WriteStore, name: str, upon: ReadVersion | None = None) -> Committed | Conflict:
    staged = stage(add(name), upon=upon or newest(store), transaction_id=name)
    return commit(store, staged, clock=lambda: 1, retries=AT_ONCE)


def newest(store: WriteStore) -> ReadVersion:
    return read_version_of(explorer.open_table(store.uri).snapshot())


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """A table with row tracking, at version 0."""
    made = LocalStore(str(tmp_path))
    creation = stage(TRACKED, metadata(), upon=NO_TABLE, transaction_id="creation")
    assert commit(made, creation, clock=lambda: 1) == Committed(version=0, timestamp=1)
    return made


def test_a_late_writer_follows_every_winner_and_takes_row_ids_above_theirs(
    store: LocalStore,
) -> None:
    read = newest(store)
    for name in "abc":
        append(store, name)
    assert append(store, "late", read) == Committed(version=4, timestamp=1)
    info, mark, added = lines_of(store, 4)
    assert info["commitInfo"]["readVersion"] == 0
    assert mark["domainMetadata"]["configuration"] == '{"rowIdHighWaterMark":39}'
    assert (added["add"]["baseRowId"], added["add"]["defaultRowCommitVersion"]) == (30, 4)


@pytest.mark.rule("row-write-recommit-base", "row-write-recommit-commit-version")
@pytest.mark.parametrize("in_batches", [False, True], ids=["actions", "batches"])
@pytest.mark.parametrize("had", [{}, {"base_row_id": 3, "default_row_commit_version": 0}])
@pytest.mark.parametrize("given", [{}, {"base_row_id": 20, "default_row_commit_version": 1}])
def test_a_remove_says_the_row_ids_that_a_winner_gave_to_its_file(
    store: LocalStore, had: dict, given: dict, *, in_batches: bool
) -> None:
    """A backfill adds every file again as it is; nobody need make way for it."""
    files = [remove(name, data_change=False, **had) for name in ("/t/x", "z")]
    staged = stage(*([] if in_batches else files), add("new"), upon=newest(store))
    staged = replace(staged, removes=(batch("remove", *files),) if in_batches else ())
    for version, others in (
        (1, [render_action(add("file:/t/x", data_change=False, **given))]),
        (2, []),
    ):
        store.write(commit_path(version), render_lines([{"commitInfo": {}}, *others]))
    assert commit(store, staged, clock=lambda: 1) == Committed(version=3, timestamp=1)
    first, second = (line["remove"] for line in lines_of(store, 3) if "remove" in line)
    ids = ("baseRowId", "defaultRowCommitVersion")
    assert [first.get(name) for name in ids] == ([20, 1] if given else [None, None])
    assert [second.get(name) for name in ids] == ([3, 0] if had else [None, None])


def test_the_first_winner_in_the_way_is_told(store: LocalStore) -> None:
    append(store, "old")
    read = newest(store)
    append(store, "new")
    commit(store, stage(remove("old"), upon=newest(store)), clock=lambda: 1)
    done = commit(store, stage(remove("old"), upon=read), clock=lambda: 1, retries=AT_ONCE)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (3, "concurrent delete-delete")
    assert not Path(store.uri, commit_path(4)).exists()


def cut(store: LocalStore, up_to: int) -> None:
    """What a cleanup leaves: a checkpoint, which nobody reads here, and the commits from it on."""
    store.write(f"_delta_log/{up_to:020}.checkpoint.parquet", b"")
    for version in range(up_to):
        store.delete(commit_path(version))


def test_a_version_that_a_cleanup_took_is_not_committed_anew(store: LocalStore) -> None:
    read = newest(store)
    for name in "abc":
        append(store, name)
    cut(store, 3)
    done = append(store, "late", read)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (1, "commit gone")
    assert not Path(store.uri, commit_path(1)).exists()
    assert explorer.open_table(store.uri).latest_version() == 3


def test_a_commit_that_a_cleanup_went_past_is_taken_away_and_told(store: LocalStore) -> None:
    """Between the look at what was read and the commit the log is cut behind both."""
    read = newest(store)
    for name in "abc":
        append(store, name)
    meddled = Meddled(store.uri, before=lambda: cut(store, 3))
    late = (read.timestamp or 0) + 2 * 3_600_000
    staged = stage(add("late"), upon=read)
    done = commit(meddled, staged, clock=lambda: late, retries=AT_ONCE)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (1, "commit gone")
    assert not Path(store.uri, commit_path(1)).exists()
    assert explorer.open_table(store.uri).latest_version() == 3


def test_a_commit_upon_an_old_version_that_others_follow_at_once_stands(store: LocalStore) -> None:
    read = newest(store)
    meddled = Meddled(store.uri, after=lambda: append(store, "next"))
    late = (read.timestamp or 0) + 2 * 3_600_000
    done = commit(meddled, stage(add("old"), upon=read), clock=lambda: late, retries=AT_ONCE)
    assert isinstance(done, Committed)
    assert done.version == 1
    assert explorer.open_table(store.uri).latest_version() == 2


def test_a_commit_that_others_followed_stands_although_a_cleanup_took_it_since(
    store: LocalStore,
) -> None:
    """It lies before the log that is left, as one does that nobody ever saw; but its files are
    in the checkpoint, and whoever took them for needless would take rows of the table."""
    read = newest(store)

    def follow_and_clean() -> None:
        for name in "abc":
            append(store, name)
        cut(store, 4)

    meddled = Meddled(store.uri, after=follow_and_clean)
    late = (read.timestamp or 0) + 2 * 3_600_000
    done = commit(meddled, stage(add("old"), upon=read), clock=lambda: late, retries=AT_ONCE)
    assert isinstance(done, Committed)
    assert done.version == 1
    assert not Path(store.uri, commit_path(1)).exists()


def test_a_table_whose_first_commits_are_gone_is_not_created_anew(store: LocalStore) -> None:
    for name in "ab":
        append(store, name)
    cut(store, 2)
    creation = stage(TRACKED, metadata(), upon=NO_TABLE)
    done = commit(store, creation, clock=lambda: 1)
    assert isinstance(done, Conflict)
    assert done.rule == "commit gone"
    assert not Path(store.uri, commit_path(0)).exists()


def test_a_checkpoint_without_its_commit_can_be_built_upon(store: LocalStore) -> None:
    append(store, "a")
    read = newest(store)
    cut(store, 1)
    store.delete(commit_path(1))
    assert append(store, "b", read) == Committed(version=2, timestamp=1)


def test_a_winner_that_goes_before_it_was_read_ends_the_commit(store: LocalStore) -> None:
    def lose() -> None:
        append(store, "a")
        append(store, "b")

    class Cleaned(Meddled):
        """Its first commit goes when its first line has told that it is another's."""

        def read(self, path: str, limit: int | None = None) -> bytes:
            found = super().read(path, limit)
            if limit is not None:
                store.delete(commit_path(1))
            return found

    meddled = Cleaned(store.uri, before=lose)
    done = commit(meddled, stage(add("c"), upon=newest(store)), clock=lambda: 1, retries=AT_ONCE)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (1, "commit gone")
    assert not Path(store.uri, commit_path(1)).exists()


@pytest.mark.parametrize("answer", [PutOutcome.UNKNOWN, PutOutcome.ALREADY_THERE])
@pytest.mark.parametrize("hours", [0, 2])
def test_a_commit_that_went_before_anybody_knew_whose_it_was_is_no_conflict(
    store: LocalStore, answer: PutOutcome, hours: int
) -> None:
    """It was followed, and a cleanup took it: told a conflict, whoever made it would take its
    files for needless, which are in the table; made again, it would lie alone before the log."""
    read = newest(store)

    class Unsure(Meddled):
        def put_if_absent(self, path: str, data: Content) -> PutOutcome:
            first = bool(self._after)
            found = super().put_if_absent(path, data)
            return answer if first else found

    def follow_and_clean() -> None:
        for name in "abc":
            append(store, name)
        assert [line["add"]["path"] for line in lines_of(store, 1) if "add" in line] == ["old"]
        cut(store, 4)

    unsure = Unsure(store.uri, after=follow_and_clean)
    late = (read.timestamp or 0) + hours * 3_600_000
    with pytest.raises(StorageError, match="unknown"):
        commit(unsure, stage(add("old"), upon=read), clock=lambda: late, retries=AT_ONCE)
    assert [name for name in store.list_names("_delta_log") if name.endswith(".json")] == [
        f"{4:020}.json"
    ]


def test_too_many_lost_races_end_in_an_error(store: LocalStore) -> None:
    class Overtaken(LocalStore):
        count = 0

        def put_if_absent(self, path: str, data: Content) -> PutOutcome:
            self.count += 1
            append(store, f"winner-{self.count}")
            return super().put_if_absent(path, data)

    pauses: list[int] = []
    overtaken = Overtaken(store.uri)
    with pytest.raises(ConflictError, match="overtaken 3 times"):
        commit(
            overtaken,
            stage(add("c"), upon=newest(store)),
            clock=lambda: 1,
            retries=Retries(limit=3, pause=pauses.append),
        )
    assert (overtaken.count, pauses) == (3, [1, 2])


def test_a_request_that_was_sent_twice_is_one_commit(store: LocalStore) -> None:
    class Resending(LocalStore):
        def put_if_absent(self, path: str, data: Content) -> PutOutcome:
            super().put_if_absent(path, data)
            return super().put_if_absent(path, data)

    done = append(Resending(store.uri), "a", newest(store))
    assert done == Committed(version=1, timestamp=1)
    assert explorer.open_table(store.uri).latest_version() == 1


def test_a_commit_that_went_on_otherwise_is_damaged(store: LocalStore) -> None:
    class Tearing(LocalStore):
        def put_if_absent(self, path: str, data: Content) -> PutOutcome:
            super().put_if_absent(path, b"".join([bytes(data)[:-5]]))  # type: ignore[arg-type]
            return PutOutcome.UNKNOWN

    with pytest.raises(CorruptLogError, match="damaged"):
        append(Tearing(store.uri), "a", newest(store))


def test_rules_are_asked_again_of_the_version_that_is_followed(store: LocalStore) -> None:
    read = newest(store)
    append(store, "old")
    appending = metadata({"delta.appendOnly": "true"})
    assert isinstance(
        commit(store, stage(appending, upon=newest(store)), clock=lambda: 1), Committed
    )
    staged = stage(remove("gone"), upon=read, reads=replace(NOTHING, metadata=False))
    with pytest.raises(UnsupportedError, match="append-only"):
        commit(store, staged, clock=lambda: 1, retries=AT_ONCE)


def test_rules_are_asked_before_anything_is_written(store: LocalStore) -> None:
    staged = stage(add("a", stats=None), upon=newest(store))
    with pytest.raises(UnsupportedError, match="numRecords"):
        commit(store, staged, clock=lambda: 1)
    assert not Path(store.uri, commit_path(1)).exists()


class Distant(LocalStore):
    """A store where a request takes long: it is asked for much at once."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.prefixes: list[str] = []

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        data = self.read(path)
        return [data[start:end] for start, end in ranges]

    def list_prefix(self, folder: str, prefix: str) -> list[ObjectInfo]:
        self.prefixes.append(prefix)
        return [info for info in self.list_folder(folder) if info.name.startswith(prefix)]

    def list_names(self, folder: str) -> list[str]:
        raise AssertionError(f"all of {folder} is not listed for a few winners")


def test_winners_on_an_object_store_are_listed_from_where_they_begin(store: LocalStore) -> None:
    for number in range(120):
        append(store, f"{number}")
    read = read_version_of(explorer.open_table(store.uri).snapshot(version=90))
    distant = Distant(store.uri)
    assert append(distant, "late", read) == Committed(version=121, timestamp=1)
    assert distant.prefixes == [f"{group:018}" for group in range(3)]


def test_many_files_are_committed_from_columns(store: LocalStore) -> None:
    names = [f"{number}.parquet" for number in range(5_000)]
    staged = replace(
        stage(upon=newest(store)), adds=(batch("add", *(add(name) for name in names)),)
    )
    assert isinstance(commit(store, staged, clock=lambda: 1), Committed)
    snapshot = explorer.open_table(store.uri).snapshot()
    files = snapshot.files(["path", "base_row_id"])
    assert files["path"].to_pylist() == names
    assert files["base_row_id"].to_pylist() == list(range(0, 50_000, 10))
    assert snapshot.row_id_high_water_mark == 49_999


def test_a_reader_of_everything_does_not_follow_an_append(store: LocalStore) -> None:
    read = newest(store)
    append(store, "a")
    changed: Action = metadata({"x": "y"})
    assert isinstance(changed, Metadata)
    done = commit(store, stage(changed, upon=read, reads=WHOLE_TABLE), clock=lambda: 1)
    assert isinstance(done, Conflict)
    assert done.rule == "concurrent append"
