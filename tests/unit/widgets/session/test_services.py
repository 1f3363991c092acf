"""Who may open what, what is remembered, how a long history is read."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.errors import (
    CancelledError,
    CorruptLogError,
    DeltaError,
    InvalidArgumentError,
    Problem,
)
from explorer.progress import Cancel, Progress, Watch
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets.screens.timeline._ask import (
    FIRST_WINDOW,
    SLOW_WINDOW,
    Listener,
    plan_windows,
    read_history,
)
from widgets.session.access import Access, is_loopback
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import KEPT, Recents
from widgets.session.tables import FileDetails, FileQuery, TableService, read_column_names
from widgets.session.work import InlineRunner, attempt

SECRET = "hunter2"


def table(folder: Path, versions: int = 3) -> LogFolder:
    """A table in `folder`, which may be there already."""
    folder.mkdir(exist_ok=True)
    log = LogFolder(folder)
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    for version in range(1, versions):
        log.commit(version, [add(f"{version}.parquet")])
    return log


def services(access: Access | None = None, recents: Recents | None = None) -> PageServices:
    return PageServices(
        runner=InlineRunner(),
        tables=OpenTables(),
        access=access or Access(),
        recents=recents or Recents(),
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.8.9.1"])
def test_this_machine_is_told_from_others(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_other_addresses_are_not_loopback(address: str) -> None:
    assert not is_loopback(address)


@pytest.mark.parametrize("inside", ["", "/day=1", "/a/../b", "/."])
def test_what_lies_below_a_served_table_opens(tmp_path: Path, inside: str) -> None:
    Access(roots=(str(tmp_path),)).check(f"{tmp_path}{inside}")


@pytest.mark.parametrize("outside", ["/..", "/../other", "-twin", "/a/../../other"])
def test_what_lies_elsewhere_is_refused(tmp_path: Path, outside: str) -> None:
    with pytest.raises(DeltaError) as refused:
        Access(roots=(str(tmp_path),)).check(f"{tmp_path}{outside}")
    assert refused.value.kind == "storage_refused"


def test_a_link_does_not_lead_out_of_a_served_table(tmp_path: Path) -> None:
    served, other = tmp_path / "served", tmp_path / "other"
    served.mkdir()
    other.mkdir()
    (served / "link").symlink_to(other)
    with pytest.raises(DeltaError):
        Access(roots=(str(served),)).check(str(served / "link"))


@pytest.mark.parametrize(
    ("root", "asked", "opens"),
    [
        ("s3://lake/orders", "s3://lake/orders", True),
        ("s3://lake/orders", "s3://lake/orders/x", True),
        ("s3://lake/orders", "s3://lake/orders2", False),
        ("s3://lake/orders", "s3://lake/orders/../users", False),
        ("s3://lake/orders", "gs://lake/orders", False),
        ("s3://lake/orders", "/etc", False),
        ("s3://lake/orders", "s3a://lake/orders", True),
        ("s3://lake/orders", "http://evil/::s3://lake/orders", False),
        ("s3://lake/orders", "simplecache::s3://lake/orders", False),
        ("simplecache::s3://lake/a", "simplecache::s3://lake/a/b", True),
        ("simplecache::s3://lake/a", "simplecache::s3://lake/a/../b", False),
    ],
)
def test_urls_are_held_against_the_served_ones(root: str, asked: str, opens: bool) -> None:
    access = Access(roots=(root,))
    if opens:
        access.check(asked)
    else:
        with pytest.raises(DeltaError):
            access.check(asked)


def test_a_page_for_others_refuses_before_anything_is_read(tmp_path: Path) -> None:
    table(tmp_path / "secret")
    with pytest.raises(DeltaError) as refused:
        services(Access(roots=())).open(str(tmp_path / "secret"))
    assert refused.value.kind == "storage_refused"


def test_recent_tables_are_kept_newest_first_and_each_once(tmp_path: Path) -> None:
    file = tmp_path / "state" / "recent.json"
    recents = Recents(file)
    for name in ("a", "b", "a"):
        recents.add(name)
    assert Recents(file).list() == ("a", "b")
    for number in range(2 * KEPT):
        recents.add(str(number))
    assert len(Recents(file).list()) == KEPT


@pytest.mark.parametrize("content", ["", "{", '{"a":1}', "[1,2]", "null", "\x00"])
def test_a_broken_list_of_recent_tables_is_an_empty_one(tmp_path: Path, content: str) -> None:
    file = tmp_path / "recent.json"
    file.write_text(content)
    assert Recents(file).list() == ()


def test_recent_tables_need_no_folder_that_can_be_written() -> None:
    recents = Recents(Path("/proc/nowhere/recent.json"))
    recents.add("a")
    assert recents.list() == ("a",)


def test_credentials_of_a_place_are_neither_shown_nor_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "recent.json"
    opened: list[str] = []

    class Silent:
        uri = "https://host/t"

        def __init__(self, target: str) -> None:
            opened.append(target)

    monkeypatch.setattr(
        "widgets.session.page_services.explorer.open_table", lambda uri, **_: Silent(uri)
    )
    place = f"https://user:{SECRET}@host/t?sig={SECRET}"
    mine = PageServices(runner=InlineRunner(), tables=OpenTables({"key": SECRET}), access=Access(),
                recents=Recents(file), offered=(place,))  # fmt: skip
    assert mine.choices() == ("https://host/t",)
    mine.open("https://host/t")
    assert opened == [place]  # the shown form finds the place again, on this page
    assert SECRET not in json.dumps(mine.choices())
    theirs = services()
    theirs.open("https://host/t")
    assert opened[-1] == "https://host/t"  # and on no other


@pytest.mark.parametrize("count", [0, 1, FIRST_WINDOW, FIRST_WINDOW + 1, 50_000])
def test_windows_cover_every_commit_once_newest_first(count: int) -> None:
    commits = [version * 3 for version in range(count)]
    windows = list(plan_windows(commits))
    covered = [
        version for first, last in windows for version in commits if first <= version <= last
    ]
    assert sorted(covered) == commits
    assert len(covered) == count
    assert [last for _, last in windows] == sorted((last for _, last in windows), reverse=True)


@pytest.mark.parametrize(
    ("rate", "sizes"),
    [
        (1_000, [100, 1_000, 10_000, *[20_000] * 9, 8_900]),
        (40_000, [100, 1_000, 10_000, 80_000, 80_000, 28_900]),
        (1e9, [100, 1_000, 10_000, 100_000, 88_900]),
    ],
)
def test_windows_are_as_large_as_can_be_read_in_two_seconds(rate: float, sizes: list[int]) -> None:
    found: list[int] = []
    for first, last in plan_windows(range(200_000), lambda: sum(found) / rate):
        found.append(last - first + 1)
    assert found == sizes
    assert SLOW_WINDOW == 20_000


def read(service: TableService, **options: Any) -> list[Any]:
    parts: list[Any] = []
    listener = Listener(
        show=parts.append,
        report=options.get("report", lambda _: None),
        is_enough=options.get("is_enough", lambda: False),
    )
    read_history(service, listener, options.get("cancel", Cancel()), options.get("known"))
    return parts


def test_a_history_is_handed_over_as_it_grows(tmp_path: Path) -> None:
    table(tmp_path, FIRST_WINDOW + 20)
    service = services().open(str(tmp_path))
    parts = read(service)
    assert [part.read for part in parts] == [FIRST_WINDOW, FIRST_WINDOW + 20]
    assert [part.left for part in parts] == [20, 0]
    assert parts[-1].frame["version"].to_pylist() == list(range(FIRST_WINDOW + 20))[::-1]


def test_a_history_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    table(tmp_path, FIRST_WINDOW + 20)
    service = services().open(str(tmp_path))
    first = read(service, is_enough=lambda: True)
    rest = read(service, known=first[-1])
    assert rest[-1].left == 0
    assert rest[-1].frame["version"].to_pylist() == list(range(FIRST_WINDOW + 20))[::-1]


def test_a_cancelled_history_ends_without_an_error(tmp_path: Path) -> None:
    table(tmp_path)
    cancel = Cancel()
    cancel.cancel()
    assert read(services().open(str(tmp_path)), cancel=cancel) == []


def test_progress_counts_over_all_windows(tmp_path: Path) -> None:
    table(tmp_path, FIRST_WINDOW + 20)
    seen: list[Progress] = []
    read(services().open(str(tmp_path)), report=seen.append)
    assert {progress.total for progress in seen} == {FIRST_WINDOW + 20}
    assert max(progress.done for progress in seen) >= FIRST_WINDOW


def test_an_overview_needs_no_commit_to_be_readable(tmp_path: Path) -> None:
    log = table(tmp_path)
    log.write("00000000000000000002.json", "{")
    overview = services().open(str(tmp_path)).read_overview()
    assert (overview.latest, overview.commits_since_checkpoint) == (2, 3)


def test_a_refused_table_still_tells_its_protocol_and_metadata(tmp_path: Path) -> None:
    strange = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["fromTheFuture"],
            "writerFeatures": ["fromTheFuture"],
        }
    }
    LogFolder(tmp_path).commit(0, [strange, metadata(name="orders")])
    identity = services().open(str(tmp_path)).read_identity(0)
    assert identity.refusal is not None
    assert "fromTheFuture" in identity.refusal.reason + identity.refusal.problem
    assert identity.metadata is not None
    assert identity.metadata.name == "orders"
    assert identity.protocol is not None


def test_a_broken_table_says_why_it_cannot_be_read(tmp_path: Path) -> None:
    log = table(tmp_path)
    log.write("00000000000000000002.json", "{")
    identity = services().open(str(tmp_path)).read_identity(2)
    assert identity.failure is not None
    assert identity.refusal is None


def test_a_page_of_files_is_cut_sorted_and_filtered(tmp_path: Path) -> None:
    table(tmp_path, 40)
    service = services().open(str(tmp_path))
    page = service.read_files(FileQuery(version=39, offset=30, sort_by="path"))
    assert (page.total, page.rows.num_rows) == (40, 10)
    found = service.read_files(FileQuery(version=39, contains="39.PARQ"))
    assert found.rows["path"].to_pylist() == ["39.parquet"]


def test_the_details_of_a_file_are_found_by_its_path(tmp_path: Path) -> None:
    table(tmp_path)
    service = services().open(str(tmp_path))
    assert service.read_file(0, "a.parquet").columns == {("id",): ("id",), ("part",): ("part",)}
    assert service.read_file(0, "nowhere") == FileDetails()


def test_an_error_that_nobody_foresaw_is_told_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def work() -> None:
        raise RuntimeError(f"https://user:{SECRET}@host")

    problems: list[Problem] = []
    attempt(work, lambda _: None, problems.append)()
    assert len(problems) == 1
    assert SECRET not in str(problems[0].as_dict()) + caplog.text
    assert "RuntimeError" in problems[0].reason


def test_an_error_while_an_answer_is_drawn_is_shown_too() -> None:
    def draw(_: object) -> None:
        raise ValueError

    problems: list[Problem] = []
    attempt(lambda: 1, draw, problems.append)()
    assert len(problems) == 1


def test_a_foreseen_error_keeps_its_three_sentences() -> None:
    def work() -> None:
        raise CorruptLogError("What.", reason="Why.", remedy="How.")

    problems: list[Problem] = []
    attempt(work, lambda _: None, problems.append)()
    assert (problems[0].problem, problems[0].reason, problems[0].remedy) == (
        "What.",
        "Why.",
        "How.",
    )


def test_a_table_is_opened_once_for_many_threads(tmp_path: Path) -> None:
    table(tmp_path)
    tables = OpenTables()
    found: list[TableService] = [tables.open(str(tmp_path))]
    threads = [
        threading.Thread(target=lambda: found.append(tables.open(str(tmp_path)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(service) for service in found}) == 1


def test_an_empty_place_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        services().open(" ")


def test_timeline_frames_have_the_columns_that_are_drawn(tmp_path: Path) -> None:
    table(tmp_path)
    frame = services().open(str(tmp_path)).read_timeline(0, 2, None, None)
    assert isinstance(frame, pa.Table)
    assert {"version", "timestamp", "operation", "bytes_added", "problem"} <= set(
        frame.column_names
    )


def test_who_waits_for_a_version_is_not_waited_for_by_those_of_another(tmp_path: Path) -> None:
    service = TableService(explorer.open_table(table(tmp_path, versions=3).root))
    begun, go_on = threading.Event(), threading.Event()

    def hold(_: Progress) -> None:
        begun.set()
        assert go_on.wait(60)

    slow = threading.Thread(target=lambda: service.snapshot(0, Watch(progress=hold)))
    slow.start()
    assert begun.wait(60)
    assert service.snapshot(2).num_files == 3
    go_on.set()
    slow.join(60)
    assert service.snapshot(0) is service.snapshot(0)


def test_a_version_that_another_one_reads_is_waited_for_until_that_is_cancelled(
    tmp_path: Path,
) -> None:
    service = TableService(explorer.open_table(table(tmp_path, versions=3).root))
    begun, theirs, ours = threading.Event(), Cancel(), Cancel()
    ended: list[str] = []
    waits = threading.Event()

    def hold(_: Progress) -> None:
        begun.set()
        while not theirs.is_cancelled:
            time.sleep(0.01)

    def read_first() -> None:
        try:
            service.snapshot(0, Watch(progress=hold, cancel=theirs))
        except CancelledError as error:
            ended.append(error.kind)

    first = threading.Thread(target=read_first)
    first.start()
    assert begun.wait(60)

    def hear(step: Progress) -> None:
        if step.label.startswith("Waiting"):
            waits.set()
            ours.cancel()

    with pytest.raises(CancelledError):
        service.snapshot(0, Watch(progress=hear, cancel=ours))
    assert waits.is_set()
    theirs.cancel()
    first.join(60)
    assert service.snapshot(0).version == 0


def test_names_for_a_condition_are_those_that_one_may_hold(tmp_path: Path) -> None:
    inner = {"type": "struct", "fields": [field("x y", "long"), field("z", "long")]}
    entries = {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": True}
    fields = [field("m", entries), field("st", inner), field("id", "long")]
    text = json.dumps({"type": "struct", "fields": fields})
    log = LogFolder(tmp_path)
    log.commit(0, [PROTOCOL, metadata(schemaString=text), add("a.parquet")])
    service = TableService(explorer.open_table(tmp_path))
    names = read_column_names(service, 0)
    assert names == ("m", "st", "st.`x y`", "st.z", "id")
    for name in names:
        explorer.plan_scan(service.snapshot(0), f"{name} IS NULL")


def field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}
