"""One question of a screen: what stands in the place of its answer, whatever happens meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.errors import DeltaError, InvalidArgumentError, StorageError
from explorer.progress import Watch
from tests.tables import PROTOCOL, LogFolder, metadata
from tests.unit.widgets.ui.test_slow_stores import PATIENCE, Threads
from widgets.markup import Markup, html
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import InlineRunner
from widgets.state import PageState
from widgets.ui.exporting import Export
from widgets.ui.live_html import LiveHtml
from widgets.ui.paging import Pages
from widgets.ui.view import AtVersion, Offer, Pane, Request, Tell, View, Words, at_version

WORDS = Words(label="Counting", stopped="Stopped early.", again="Count <again>")
ROWS = 60


class Counting:
    """A view that counts up to the version; each version may be held, or may fail."""

    def __init__(self, folder: Path, runner: Any, **more: Any) -> None:
        log = LogFolder(folder / "orders")
        log.commit(0, [PROTOCOL, metadata()])
        tables = OpenTables()
        self.service = tables.open(str(log.root))
        self.runner = runner
        self.state = PageState(table=self.service.uri, view="layout")
        self.services = PageServices(
            runner=runner, tables=tables, access=Access(), recents=Recents()
        )
        self.gates: dict[int, threading.Event] = {}
        self.failures: dict[int, DeltaError] = {}
        self.asked: list[int] = []
        self.answer: Pane[AtVersion, list[int]] = Pane(
            render_count, head=render_head, export=export_count, **more.pop("pane", {})
        )
        self.rows: Pane[AtVersion, list[int]] = Pane(render_rows, noun="rows", export=export_rows)
        request: Request[AtVersion, list[int]] = Request(
            question=at_version, read=self.read, words=WORDS, **more
        )
        self.view = View(self.services, self.state, "layout", request, self.answer, self.rows)
        self.view.show(self.service)

    def read(self, asked: AtVersion, watch: Watch, tell: Tell) -> list[int]:
        self.asked.append(asked.version)
        tell(f"About {asked.version} <rows>.")
        watch.step(1, ROWS, "Counting")
        gate = self.gates.get(asked.version)
        assert gate is None or gate.wait(PATIENCE)  # a store that cannot be stopped
        if asked.version in self.failures:
            raise self.failures[asked.version]
        return [asked.version] * ROWS

    def hold(self, version: int) -> threading.Event:
        return self.gates.setdefault(version, threading.Event())

    def until(self, text: str) -> None:
        self.runner.until(lambda: text in self.html)

    def click(self, action: str, value: str = "") -> None:
        assert f'data-do="{action}"' in self.html
        self.answer.live._handle_msg({"action": action, "value": value})

    @property
    def html(self) -> str:
        return self.answer.live.html


def render_head(asked: AtVersion, answer: list[int] | None) -> Markup:
    return html("<h3>{} of {}</h3>", "nothing yet" if answer is None else "all", asked.version)


def render_count(asked: AtVersion, answer: list[int], pages: Pages) -> Markup:
    return html("<p>{} rows of {}</p>{}", len(answer), asked.version, pages.render(len(answer)))


def render_rows(asked: AtVersion, answer: list[int], pages: Pages) -> Markup:
    offset, limit = pages.span(len(answer))
    return html("<p>{} of {} from {}</p>", limit, asked.version, offset)


def export_count(asked: AtVersion, answer: list[int]) -> Export:
    return Export.of(f"count-{asked.version}", pa.table({"count": [len(answer)]}))


def export_rows(asked: AtVersion, answer: list[int]) -> Export:
    return Export.of(f"rows-{asked.version}", pa.table({"row": answer[:2]}))


def storage_error() -> StorageError:
    return StorageError("The store failed.", reason="It is tired.", remedy="Wait.")


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found: dict[str, str] = {}
    monkeypatch.setattr(
        LiveHtml, "download", lambda _, name, file: found.update({name: file.read().decode()})
    )
    return found


def test_without_a_question_nothing_is_read_or_shown(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner())
    assert counting.view.status == "empty"
    assert counting.asked == []
    assert counting.html == ""
    counting.state.version = 3
    counting.state.version = None
    assert counting.html == ""
    assert counting.rows.live.html == ""
    assert (counting.view.question, counting.view.answer) == (None, None)


def test_while_it_is_read_the_head_the_first_sentence_and_the_progress_stand_there(
    tmp_path: Path,
) -> None:
    counting = Counting(tmp_path, Threads())
    gate = counting.hold(3)
    counting.state.version = 3
    counting.until("1 of 60")
    assert counting.view.status == "loading"
    assert counting.html.startswith(
        '<h3>nothing yet of 3</h3><p class="dx-lead">About 3 &lt;rows&gt;.</p>'
    )
    assert 'data-do="cancel"' in counting.html
    gate.set()
    counting.runner.rest()
    assert counting.view.status == "shown"
    assert counting.html.startswith("<h3>all of 3</h3><p>60 rows of 3</p>")
    assert counting.rows.live.html == "<p>25 of 3 from 0</p>"


def test_nothing_is_asked_while_another_screen_is_in_front(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner())
    counting.state.param.update(view="files", version=3)
    counting.view.show(counting.service)
    assert counting.asked == []
    counting.state.view = "layout"
    assert counting.asked == [3]
    counting.state.view = "files"
    counting.state.view = "layout"
    assert counting.asked == [3]  # it is there still


def test_another_table_of_the_page_is_not_asked_about(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner())
    counting.state.param.update(table="elsewhere", version=3)
    assert counting.asked == []


def test_a_table_that_is_refreshed_is_asked_again(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner())
    counting.state.version = 3
    counting.view.show(counting.service)
    assert counting.asked == [3, 3]


def test_what_is_stopped_half_way_says_so_and_can_be_asked_again(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads())
    gate = counting.hold(3)
    counting.state.version = 3
    counting.until("1 of 60")
    counting.click("cancel")
    assert counting.view.status == "stopped"
    assert "Stopped early." in counting.html
    assert "About 3" in counting.html  # what was known is true still
    assert "Count &lt;again&gt;" in counting.html
    gate.set()
    counting.runner.rest()
    assert "Stopped early." in counting.html
    assert counting.view.answer is None
    counting.click("again")
    counting.runner.rest()
    assert counting.view.status == "shown"
    assert "60 rows of 3" in counting.html


def test_a_late_answer_to_an_old_question_is_dropped(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads())
    late = counting.hold(3)
    counting.state.version = 3
    counting.until("1 of 60")
    counting.state.version = 4
    counting.until("60 rows of 4")
    late.set()
    counting.runner.rest()
    assert counting.html.startswith("<h3>all of 4</h3>")
    assert counting.view.question == AtVersion(counting.service, 4)


def test_a_late_failure_of_an_old_question_is_dropped(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads())
    late, counting.failures = counting.hold(3), {3: storage_error()}
    counting.state.version = 3
    counting.until("1 of 60")
    counting.state.version = 4
    late.set()
    counting.runner.rest()
    assert counting.view.status == "shown"


def test_an_answer_to_a_table_that_was_left_is_dropped_while_the_screen_is_hidden(
    tmp_path: Path,
) -> None:
    counting = Counting(tmp_path, Threads())
    late = counting.hold(3)
    counting.state.version = 3
    counting.until("1 of 60")
    counting.state.view = "files"
    counting.view.show(OpenTables().open(counting.service.uri))
    late.set()
    counting.runner.rest()
    assert "rows of 3" not in counting.html
    counting.state.view = "layout"
    counting.until("60 rows of 3")
    assert counting.asked == [3, 3]


def test_what_failed_is_said_and_may_be_tried_again(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner())
    counting.state.version = 2
    counting.failures[3] = storage_error()
    counting.state.version = 3
    assert counting.view.status == "failed"
    assert "The store failed." in counting.html
    assert counting.html.startswith("<h3>nothing yet of 3</h3>")
    assert counting.rows.live.html == ""  # nothing of version 2 stands below
    counting.click("again")
    assert "The store failed." in counting.html
    del counting.failures[3]
    counting.click("again")
    assert counting.view.status == "shown"
    assert "The store failed." not in counting.html


def test_a_question_that_is_wrong_is_not_offered_again(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner())
    wrong = InvalidArgumentError("That is no condition.", reason="It ends.", remedy="Go on.")
    counting.failures[3] = wrong
    counting.state.version = 3
    assert "That is no condition." in counting.html
    assert 'data-do="again"' not in counting.html


def test_nothing_is_shown_of_a_failure_that_is_told_elsewhere(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner(), failed=lambda _: Markup(""))
    counting.failures[3] = storage_error()
    counting.state.version = 3
    assert counting.view.status == "failed"
    assert counting.html == ""


def test_an_answer_that_cannot_be_drawn_is_a_failure(tmp_path: Path) -> None:
    def break_down(*_: object) -> int:
        raise ZeroDivisionError

    counting = Counting(tmp_path, InlineRunner(), pane={"start": break_down})
    counting.state.version = 3
    assert counting.view.status == "failed"
    assert counting.view.answer is None
    assert "did not expect" in counting.html
    assert 'data-do="again"' in counting.html


def offer(asked: AtVersion) -> Markup | None:
    if asked.version < 3:
        return None
    return html('<button data-do="count" data-value="">Count {}</button>', asked.version)


def test_what_is_only_offered_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads(), offer=Offer(action="count", render=offer))
    counting.state.version = 2
    counting.until("60 rows of 2")  # without being told to
    counting.state.version = 3
    offered = counting.html
    assert "Count 3" in offered
    assert counting.view.status == "offered"
    assert counting.rows.live.html == ""
    gate = counting.hold(3)
    counting.click("count")
    counting.until("1 of 60")
    counting.click("cancel")
    assert counting.html == offered
    gate.set()
    counting.runner.rest()
    assert counting.html == offered
    counting.click("count")
    counting.until("60 rows of 3")


def test_what_was_offered_and_failed_is_offered_again_below_the_problem(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner(), offer=Offer(action="count", render=offer))
    counting.failures[3] = storage_error()
    counting.state.version = 3
    counting.click("count")
    assert counting.html.index("The store failed.") < counting.html.index("Count 3")
    assert 'data-do="again"' not in counting.html
    del counting.failures[3]
    counting.click("count")
    assert "60 rows of 3" in counting.html


def test_the_same_answer_in_another_order_begins_at_its_first_row(tmp_path: Path) -> None:
    counting = Counting(tmp_path, InlineRunner())
    counting.state.version = 3
    counting.click("page", "50")
    counting.view.change([7] * 40)
    assert "40 rows of 3" in counting.html
    assert "1\N{EN DASH}25 of 40" in counting.html
    assert counting.asked == [3]


def test_a_wider_question_that_is_stopped_gives_the_answer_back(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads())
    counting.state.version = 3
    counting.runner.rest()
    said, rows = counting.html, counting.rows.live.html
    gate = counting.hold(9)
    counting.view.ask(AtVersion(counting.service, 9), known="Of <version> 3.")
    assert counting.html == said  # until it takes its time
    counting.until("1 of 60")
    assert "Of &lt;version&gt; 3." in counting.html
    assert counting.rows.live.html == rows
    counting.click("cancel")
    assert (counting.html, counting.rows.live.html) == (said, rows)
    assert counting.view.question == AtVersion(counting.service, 3)
    gate.set()
    counting.runner.rest()
    assert counting.html == said
    counting.view.ask(AtVersion(counting.service, 9))
    counting.runner.rest()
    assert "60 rows of 9" in counting.html
    counting.view.refresh()
    assert "60 rows of 9" in counting.html  # the page asks nothing else


def test_a_wider_question_that_fails_can_be_left_for_the_answer_from_before(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads())
    counting.state.version = 3
    counting.runner.rest()
    said, rows = counting.html, counting.rows.live.html
    counting.failures[9] = storage_error()
    counting.view.ask(AtVersion(counting.service, 9))
    counting.until("The store failed.")
    assert counting.rows.live.html == ""
    gate = counting.hold(9)
    counting.click("again")
    counting.until("1 of 60")
    counting.click("cancel")
    assert (counting.html, counting.rows.live.html) == (said, rows)
    gate.set()
    counting.runner.rest()
    assert counting.html == said


def test_what_is_exported_is_the_answer_that_is_shown(
    tmp_path: Path, saved: dict[str, str]
) -> None:
    counting = Counting(tmp_path, Threads())

    def export(part: LiveHtml) -> None:
        part._handle_msg({"action": "export", "value": "csv"})

    def rest() -> None:
        counting.runner.rest()

    counting.state.version = 3
    rest()
    export(counting.answer.live)
    export(counting.rows.live)
    export(counting.view.top)
    rest()
    assert saved == {"count-3.csv": "count\r\n60\r\n", "rows-3.csv": "row\r\n3\r\n3\r\n"}
    saved.clear()
    gate = counting.hold(4)
    counting.state.version = 4
    export(counting.answer.live)
    export(counting.rows.live)
    gate.set()
    rest()
    assert saved == {}  # neither the answer that has gone nor the one that had not come
    export(counting.answer.live)
    rest()
    assert list(saved) == ["count-4.csv"]


@pytest.mark.parametrize("action", ["cancel", "again", "count"])
def test_a_message_without_its_button_changes_nothing(tmp_path: Path, action: str) -> None:
    counting = Counting(tmp_path, InlineRunner(), offer=Offer(action="count", render=offer))
    counting.state.version = 2
    said = counting.html
    counting.answer.live._handle_msg({"action": action, "value": ""})
    assert (counting.html, counting.view.status, counting.asked) == (said, "shown", [2])


def test_an_answer_begins_at_its_start_and_keeps_its_page_when_it_is_drawn_again(
    tmp_path: Path,
) -> None:
    counting = Counting(tmp_path, InlineRunner(), pane={"start": lambda *_: 30})
    counting.state.version = 3
    assert "26\N{EN DASH}50 of 60" in counting.html
    counting.click("page", "50")
    counting.view.refresh()
    assert "51\N{EN DASH}60 of 60" in counting.html
    counting.answer.rewind()
    assert "1\N{EN DASH}25 of 60" in counting.html
    counting.state.version = 4
    assert "26\N{EN DASH}50 of 60" in counting.html


def test_what_stands_above_is_drawn_with_the_question_and_left_alone_by_the_answer(
    tmp_path: Path,
) -> None:
    counting = Counting(tmp_path, InlineRunner(), top=lambda asked: html("<b>{}</b>", asked))
    counting.state.version = 3
    assert "version=3" in counting.view.top.html
    counting.view.top.html = html("<b>typed</b>")
    counting.view.ask(AtVersion(counting.service, 9))
    assert counting.view.top.html == "<b>typed</b>"


def test_a_view_that_depends_on_another_follows_its_answer(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads())
    seen: list[int] = []

    def question(*_: object) -> AtVersion | None:
        return None if counting.view.answer is None else counting.view.question

    def read(asked: AtVersion, *_: object) -> int:
        seen.append(asked.version)
        return asked.version

    pane: Pane[AtVersion, int] = Pane(lambda _, answer, __: html("after {}", answer))
    request: Request[AtVersion, int] = Request(question=question, read=read, words=WORDS)
    later = View(counting.services, counting.state, "layout", request, pane, after=(counting.view,))
    later.show(counting.service)
    gate = counting.hold(3)
    counting.state.version = 3
    counting.until("1 of 60")
    assert later.status == "empty"
    gate.set()
    counting.runner.rest()
    assert (pane.live.html, seen) == ("after 3", [3])
    counting.hold(4)
    counting.state.version = 4
    assert pane.live.html == ""
    counting.click("cancel")
    assert later.status == "empty"
    counting.gates[4].set()
    counting.runner.rest()
    counting.click("again")
    counting.runner.rest()
    assert (pane.live.html, seen) == ("after 4", [3, 4])


def test_work_is_told_to_stop_when_nobody_waits_for_it(tmp_path: Path) -> None:
    counting = Counting(tmp_path, Threads())
    watches: list[Watch] = []
    read: Callable[..., list[int]] = counting.read

    def spy(asked: AtVersion, watch: Watch, tell: Tell) -> list[int]:
        watches.append(watch)
        return read(asked, watch, tell)

    request: Request[AtVersion, list[int]] = Request(question=at_version, read=spy, words=WORDS)
    view = View(counting.services, counting.state, "layout", request, Pane(render_count))
    view.show(counting.service)
    gate = counting.hold(3)
    counting.state.version = 3
    counting.runner.until(lambda: len(watches) == 1)
    counting.state.version = None
    assert watches[0].cancel is not None
    assert watches[0].cancel.is_cancelled
    gate.set()
    counting.runner.rest()
