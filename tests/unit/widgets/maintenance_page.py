"""An explorer on its maintenance view, without a browser: clicks are messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial

from explorer.maintenance import StateFolder
from tests.unit.widgets.orders import Orders
from widgets.page.explorer import Explorer
from widgets.session.access import Access
from widgets.session.maintenance import Maintenance
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.runs import Runs
from widgets.session.work import Done, Failed, InlineRunner, Runner, T
from widgets.state import Address, PageState
from widgets.ui.live_html import LiveHtml


class Beside(InlineRunner):
    """Work beside the page: while `is_slow`, each piece waits until the test lets it come."""

    is_background = True

    def __init__(self) -> None:
        self.is_slow = False
        self._waiting: list[Callable[[], None]] = []

    def run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        job = partial(super().run, work, done, failed)
        if self.is_slow:
            self._waiting.append(job)
        else:
            job()

    run_long = run
    run_planning = run

    def come_once(self) -> None:
        """The oldest of what waits comes; what it asks for waits."""
        self._waiting.pop(0)()

    def come(self, *, last_first: bool = False) -> None:
        """What waits comes, and what it asks for in turn."""
        self.is_slow = False
        while self._waiting:
            self._waiting.pop(-1 if last_first else 0)()


class Page:
    """An explorer on its maintenance view."""

    def __init__(
        self,
        orders: Orders,
        state: StateFolder | None,
        *,
        unlocked: bool = True,
        runs: Runs | None = None,
        runner: Runner | None = None,
        answers: str = "",
    ) -> None:
        self.state = PageState()
        right = self.right = Maintenance(is_unlocked=lambda: unlocked, state=state, runs=runs)
        services = PageServices(
            runner=InlineRunner() if runner is None else runner,
            tables=OpenTables(),
            access=Access(),
            recents=Recents(),
            maintenance=right,
        )
        self.explorer = Explorer(services, self.state)
        self.explorer.open(Address(table=str(orders.root), view="maintenance", answers=answers))

    def parts(self) -> Iterator[LiveHtml]:
        yield from self.explorer.panel.select(LiveHtml)

    @property
    def html(self) -> str:
        return "\n".join(part.html for part in self.parts())

    def do(self, action: str, value: str = "") -> None:
        """What a click on an element with this action does."""
        sign = f'data-do="{action}"'
        self.send(next(part for part in self.parts() if sign in part.html), action, value)

    def send(self, part: LiveHtml, action: str, value: str = "") -> None:
        """A message, whether the page shows an element for it or not."""
        part._handle_msg({"action": action, "value": value})

    def send_everywhere(self, action: str, value: str) -> None:
        """The same to every part: what a page that was tampered with could do."""
        for part in list(self.parts()):
            self.send(part, action, value)

    def plan(self, name: str = "vacuum", **answers: str) -> None:
        self.do("choose", name)
        self.do("plan", json.dumps(answers))

    def approve(self, **typed: str) -> None:
        self.do("approve", self.consent(**typed))

    def consent(self, **typed: str) -> str:
        """What the form would send."""
        found = re.search(r'name="digest" value="([0-9a-f]{64})"', self.html)
        return json.dumps({"digest": found[1] if found else "", **typed})
