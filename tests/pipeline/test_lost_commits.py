"""A stream of a table whose log lost commits that it has not read, or by which it knows columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.pipeline.tasks.task_failures import TaskFailure
from tests.change_feeds import Feed, feed_metadata
from tests.data_tables import field, struct
from tests.pipeline.driven_streams import (
    Killed,
    engine,
    ids,
    open_reader,
    own_error,
    three_files,
    told,
)
from tests.tables import FEATURE_PROTOCOL, add


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    return three_files(tmp_path / "t")


def test_commits_that_a_cleanup_removed_are_told(feed: Feed) -> None:
    query = engine(feed, startingVersion=1)
    query.run()
    live = [add("a"), add("b"), add("c"), add("d"), add("e")]
    for name, number in {"d": 30, "e": 40}.items():
        feed.file(name, id=[number])
        feed.commit(add(name))
    feed.folder.checkpoint(4, [FEATURE_PROTOCOL, feed_metadata(), *live])
    for version in range(4):
        (feed.folder.log / f"{version:020}.json").unlink()
    error = told(query)
    assert error.kind == "log_gap"
    assert "Version 3 is no longer in the log" in error.problem
    early = told(engine(feed, startingVersion=1))
    assert early.kind == "log_gap"
    assert "version 4" in early.remedy


def test_commits_are_read_of_which_no_version_can_be_reconstructed(feed: Feed) -> None:
    """What a cleanup leaves may begin before the oldest checkpoint."""
    query = engine(feed, startingVersion=1)
    query.run()
    live = [add("a"), add("b"), add("c"), add("d"), add("e")]
    for name, number in {"d": 30, "e": 40}.items():
        feed.file(name, id=[number])
        feed.commit(add(name))
    feed.folder.checkpoint(4, [FEATURE_PROTOCOL, feed_metadata(), *live])
    for version in range(3):
        (feed.folder.log / f"{version:020}.json").unlink()
    assert ids(query.run()) == [[30, 40]]
    assert told(engine(feed, startingVersion=2)).kind == "log_gap"
    assert ids(engine(feed, startingVersion=3).run()) == [[30, 40]]


def test_no_row_is_read_by_columns_of_which_a_lost_commit_may_have_told(feed: Feed) -> None:
    """Commit 3 is there, 4 is gone: it, or 5, may be who said what the columns are now."""
    query = engine(feed, startingVersion=1)
    query.run()
    for name, number in {"d": 30, "e": 40, "f": 50}.items():
        feed.file(name, id=[number])
        feed.commit(add(name))
    live = [add(name) for name in "abcdef"]
    feed.folder.checkpoint(5, [FEATURE_PROTOCOL, feed_metadata(), *live])
    for version in (0, 1, 2, 4):
        (feed.folder.log / f"{version:020}.json").unlink()
    for stopped in (query, engine(feed, startingVersion=3)):
        before = stopped.rows()
        error = told(stopped)
        assert error.kind == "log_gap"
        assert "columns of version 2" in error.problem
        assert stopped.rows() == before
    # where the next commit is gone nothing is read anyway, and that is what is told
    (feed.folder.log / f"{3:020}.json").unlink()
    assert "Version 3 is no longer in the log" in told(query).problem


def test_a_query_that_began_before_lost_commits_does_not_read_on_by_its_own_columns(
    feed: Feed,
) -> None:
    reader = open_reader(feed.folder.root, startingVersion=1)
    start = reader.initialOffset()
    wide = feed_metadata(struct(field("id", "long"), field("more", "long")))
    feed.commit(wide)
    for name in "de":
        feed.file(name, id=[30], more=[1])
        feed.commit(add(name))
    live = [add(name) for name in "abcde"]
    feed.folder.checkpoint(5, [FEATURE_PROTOCOL, wide, *live])
    for version in range(5):
        (feed.folder.log / f"{version:020}.json").unlink()
    with pytest.raises(TaskFailure) as failure:
        reader.latestOffset(start | {"version": 5}, reader.getDefaultReadLimit())
    assert own_error(failure.value).kind == "log_gap"


def test_a_first_version_that_is_gone_is_told(feed: Feed) -> None:
    query = engine(feed, maxFilesPerTrigger=1)

    def stop(what: str) -> None:
        if what == "plan" and query.done == 1:
            raise Killed

    query.step = stop
    with pytest.raises(Killed):
        query.run()
    query.step = lambda _: None
    feed.file("d", id=[30])
    feed.commit(add("d"))
    live = [add("a"), add("b"), add("c"), add("d")]
    feed.folder.checkpoint(3, [FEATURE_PROTOCOL, feed_metadata(), *live])
    for version in range(3):
        (feed.folder.log / f"{version:020}.json").unlink()
    error = told(query)
    assert error.kind == "log_gap"
    assert "began with the rows of version 2" in error.problem
