"""`GET /api/VERB?table=…`: what `delta-explorer VERB --json` prints, of the same tables and for
the same people as the page.

Only what the log alone answers is here, by the registry of answers that the command line asks too.
`/api/` lists the addresses, and `/api/tables` the tables with what is known of each.
Nothing is changed, no data file is read, no storage option is taken, and an answer has a largest
size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from bokeh.server.views.auth_request_handler import AuthRequestHandler

from explorer.answers.json_lines import render_documents, render_json, render_problems
from explorer.answers.registry import ANSWERS
from explorer.cli.printing.failures import describe_bug
from explorer.errors import DeltaError, InvalidArgumentError, Problem, UnsupportedError
from explorer.inspect.answer import Answer, Kind, Parameter, Question
from explorer.protocol.values.utc_times import iso_time
from explorer.table.counts import count
from widgets.served._authentication import Authentication
from widgets.served._headers import BARE_POLICY
from widgets.served._session_page import comes_from_elsewhere
from widgets.served._throttle import Throttle
from widgets.session.page_services import PageServices
from widgets.session.table_summaries import FRESH_SECONDS, TableSummary
from widgets.session.work import Pool, unexpected
from widgets.text import last_part

ADDRESSES = r"/api(?:/(.*))?"
TABLES = "tables"
_SEE = "/api/ lists the addresses and their parameters, /api/tables the tables."
MOST_ROWS = 10_000
USUAL_ROWS = 1_000
LARGEST_ANSWER = 16 * 2**20
"""Bytes. Ten thousand files with long paths take a few MiB."""

_SEARCH_SECONDS = 20.0
"""How long the list of tables waits for folders to be searched."""

_SEARCHING = Problem(
    kind="limit_exceeded",
    problem="The search for tables has not ended.",
    reason=f"It takes longer than {_SEARCH_SECONDS:.0f} seconds, and goes on.",
    remedy="Ask again.",
)
_LONGEST_TEXT = 10_000
_TRIES = {"address": 120, "all": 600}
_WINDOW = 60.0
"""Seconds: two a second from one address, ten in all."""

# Besides the page's own, so that nobody who asks here keeps those at the page waiting.
_POOL = Pool(2)
_MOST_WAITING = 20


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError("a whole number, such as 12")
    return int(text)


def _count(text: str) -> int:
    number = _whole(text)
    if not 1 <= number <= MOST_ROWS:
        raise ValueError(f"a number from 1 to {MOST_ROWS}")
    return number


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError("true or false")
    return text == "true"


def _text(text: str) -> str:
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"a text of at most {_LONGEST_TEXT} characters")
    return text


_READ: Mapping[Kind, Callable[[str], Any]] = {
    "count": _count,
    "flag": _flag,
    "text": _text,
    "whole": _whole,
}
"""How a parameter is read from an address."""


_STATUS = {
    "invalid_argument": 400,
    "storage_refused": 403,
    "table_not_found": 404,
    "version_not_found": 404,
    "timestamp_out_of_range": 404,
    "limit_exceeded": 413,
    "storage_failed": 502,
}
_WRONG_WITH_THE_TABLE = 422


class JsonAddresses(AuthRequestHandler):  # type: ignore[misc]  # Bokeh's types are not read
    """One verb's answer about one table."""

    def initialize(
        self,
        authentication: Authentication,
        build_services: Callable[[], PageServices],
        hosts: Collection[str],
        throttle: Throttle,
    ) -> None:
        """Called by tornado with the options of the route."""
        self._authentication, self._build_services, self._hosts = (
            authentication,
            build_services,
            hosts,
        )
        self._throttle = throttle
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Security-Policy", BARE_POLICY)

    async def get(self, name: str | None) -> None:
        """The answer, or `{"error": …}` as the command line has it."""
        services = self._build_services()
        if not (self._check_person() and self._check_sender(services) and self._check_rate()):
            return
        name = (name or "").rstrip("/")
        if not name or (name == TABLES and not self.request.arguments):
            lines = await _beside(partial(list_tables, services)) if name else list_addresses()
            kind = "application/x-ndjson" if name else "application/json"
            self.set_header("Content-Type", f"{kind}; charset=utf-8")
            self.finish(lines)
            return
        try:
            question, table = read_question(name, self.request.arguments, services.offered)
            lines = await _beside(partial(answer, question, table, services))
        except DeltaError as error:
            status = _STATUS.get(error.kind, _WRONG_WITH_THE_TABLE)
            self._refuse(status, error.as_dict())
        except Exception as error:  # noqa: BLE001 - the outermost place; its text may be a secret
            unexpected(error)
            self._refuse(500, describe_bug(error))
        else:
            kind = "application/x-ndjson" if question.answer.is_list else "application/json"
            self.set_header("Content-Type", f"{kind}; charset=utf-8")
            self.finish(lines)

    def write_error(self, status_code: int, **_: Any) -> None:
        """Called by tornado for other methods, and for what cannot be read as a request."""
        self._say(
            status_code, "This request is not answered.", "Only GET requests are.",
            _SEE,
        )  # fmt: skip

    def check_xsrf_cookie(self) -> None:
        """Nothing is done that a forged request could want."""

    def _check_person(self) -> bool:
        if self.current_user and self._authentication.visitor(self.request).is_welcome:
            return True
        self._say(
            401, "You are not signed in.", "The cookie of a sign-in is missing or invalid.",
            "Sign in at the page, and send the cookie that the browser got.",
        )  # fmt: skip
        return False

    def _check_sender(self, services: PageServices) -> bool:
        """Whether the person asks, and not a page of another site through their browser: a link
        there may lead where it may lead on the page, and a script may ask for nothing."""
        headers = self.request.headers
        origin = headers.get("Origin")
        is_own = headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
        is_link = headers.get("Sec-Fetch-Mode") == "navigate"
        wanted = self.get_query_argument("table", "")
        may_lead = is_link and not comes_from_elsewhere(self.request, wanted, services)
        is_known = origin is None or urlsplit(origin).netloc.lower() in self._hosts
        if is_known and (is_own or may_lead):
            return True
        self._say(
            403, "A page of another site asked for this.", "Other sites may not read this.",
            "If you want it, open the address yourself.",
        )  # fmt: skip
        return False

    def _check_rate(self) -> bool:
        seconds = self._throttle.wait({"address": self.request.remote_ip or "", "all": ""})
        if not seconds and _POOL.num_waiting > _MOST_WAITING:
            seconds = 5
        if not seconds:
            return True
        self.set_header("Retry-After", str(seconds))
        self._say(
            429, "Too many requests.", f"The next one is answered in {count(seconds, 'second')}.",
            "Ask for more rows at once, or use the command line.",
        )  # fmt: skip
        return False

    def _say(self, status: int, problem: str, reason: str, remedy: str) -> None:
        said = Problem(
            kind="invalid_argument" if status == 405 else "storage_refused",
            problem=problem, reason=reason, remedy=remedy,
        )  # fmt: skip
        self._refuse(status, said.as_dict())

    def _refuse(self, status: int, fields: Mapping[str, Any]) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(render_json({"error": dict(fields)}) + "\n")


async def _beside(work: Callable[[], str]) -> str:
    """What `work` returns, or raises, on another thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def settle(text: str, error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(text)
        else:
            done.set_exception(error)

    def run() -> None:
        text, error = "", None
        try:
            text = work()
        except Exception as caught:  # noqa: BLE001 - it is raised where the answer is waited for
            error = caught
        with suppress(RuntimeError):  # the server has stopped
            loop.call_soon_threadsafe(settle, text, error)

    _POOL.submit(run)
    return await done


def build_throttle() -> Throttle:
    """How often a server may be asked."""
    return Throttle(_TRIES, _WINDOW)


def served_answers() -> dict[str, Answer[Any]]:
    """The facts that have an address, by its name: those that the log alone answers."""
    return {name: found for name, found in ANSWERS.items() if found.reads == "log"}


def taken_parameters(asked: Answer[Any]) -> dict[str, Parameter]:
    """What may stand in the address of a fact, by name."""
    return {item.name: item for item in asked.parameters if item.reads == "log"}


def read_question(
    name: str, arguments: Mapping[str, Sequence[bytes]], offered: Sequence[str]
) -> tuple[Question[Any], str]:
    """The question and the table that an address names; raises `InvalidArgumentError`."""
    if name == TABLES:
        raise _wrong(f"`/api/{TABLES}` takes no parameter.", f"Ask for /api/{TABLES} alone.")
    asked = ANSWERS.get(name)
    if asked is None or asked.reads != "log":
        names = ", ".join((*served_answers(), TABLES))
        near = get_close_matches(name, served_answers(), 1)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        raise _wrong(f"There is no verb {name[:60]!r} here.", f"{meant}The verbs are {names}.")
    taken = taken_parameters(asked)
    given = {key: [_decode(key, value) for value in values] for key, values in arguments.items()}
    known = ("table", *taken)
    for key, values in given.items():
        if key not in known:
            raise _wrong(
                f"There is no parameter {key[:60]!r}.", f"The parameters are {', '.join(known)}."
            )
        if len(values) > 1 and (key == "table" or not taken[key].repeats):
            raise _wrong(f"{key!r} is given twice.", "It takes one value.")
    (table,) = given.pop("table", offered if len(offered) == 1 else [""])
    needs = [key for key, parameter in taken.items() if parameter.is_required]
    missing = [key for key in needs if key not in given]
    if not table or missing:
        lacking = " and ".join((*([] if table else ["table"]), *missing))
        shown = "&".join(f"{key}=\N{HORIZONTAL ELLIPSIS}" for key in ("table", *needs))
        raise _wrong(
            f"The address is incomplete: it lacks {lacking}.", f"It is /api/{name}?{shown}."
        )
    limit = taken.get("limit")
    is_long = limit is not None and not limit.is_for_more
    chosen: dict[str, Any] = {"limit": USUAL_ROWS} if is_long else {}
    for key, values in given.items():
        read = [_parse(key, value, _READ[taken[key].kind]) for value in values]
        chosen[key] = read if taken[key].repeats else read[0]
    return asked.question(chosen), table


def answer(question: Question[Any], table: str, services: PageServices) -> str:
    """The lines that the command line would print; raises `DeltaError`."""
    found = question.ask(services.open(table).table)
    lines = chain(
        render_documents(question.documents(found)),
        render_problems(question.answer.problems(found)),
    )
    said: list[str] = []
    room = LARGEST_ANSWER
    for line in lines:
        room -= len(line)
        if room < 0:
            raise UnsupportedError(
                "The answer is too long.",
                reason=f"It has more than {LARGEST_ANSWER:,} characters.",
                remedy="Ask for less with limit=, or use the command line.",
                kind="limit_exceeded",
            )
        said.append(line)
    return "".join(said)


def _decode(key: str, value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise _wrong(f"{key[:60]!r} cannot be read.", "It is not UTF-8 text.") from None


def _parse(key: str, value: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(value)
    except ValueError as error:
        raise _wrong(f"{key!r} cannot be read.", f"It is {error}.") from None


def _wrong(problem: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(problem, reason=reason, remedy=_SEE)


def list_addresses() -> str:
    """What can be asked, and what each address takes, as one document."""
    every = [
        {
            "address": f"/api/{name}",
            "parameters": [
                {"name": "table", "kind": "text", "is_required": True, "repeats": False},
                *(
                    {
                        "name": key,
                        "kind": parameter.kind,
                        "is_required": parameter.is_required,
                        "repeats": parameter.repeats,
                    }
                    for key, parameter in taken_parameters(found).items()
                ),
            ],
        }
        for name, found in served_answers().items()
    ]
    every.append({"address": f"/api/{TABLES}", "parameters": []})
    return render_json({"addresses": every}) + "\n"


def list_tables(services: PageServices) -> str:
    """The tables of this page, a document for each, with what is known of it now. What was never
    looked at, or not for a while, is looked at beside the answer, as the list of tables does."""
    summaries = services.looked_at
    wrong: list[Problem] = []
    if summaries is not None:
        summaries.refresh(older_than=FRESH_SECONDS)
        if not summaries.wait_for_places(_SEARCH_SECONDS):
            wrong.append(_SEARCHING)
        wrong += summaries.problems()
    known = {} if summaries is None else {one.shown: one for one in summaries.list()}
    places = dict.fromkeys((*services.offered, *known))
    shown = (known.get(place) or TableSummary(shown=place, name=last_part(place))
             for place in places)  # fmt: skip
    said = [render_json(_table_document(one)) + "\n" for one in shown]
    return "".join([*said, *render_problems(wrong)])


def _table_document(summary: TableSummary) -> dict[str, Any]:
    return {
        "uri": summary.shown,
        "name": summary.name,
        "version": summary.version,
        "timestamp": None if summary.timestamp is None else iso_time(summary.timestamp),
        "num_files": summary.num_files,
        "size_in_bytes": summary.size_in_bytes,
        "files_saved": summary.files_saved,
        "severity": summary.severity,
        "finding": summary.finding or None,
        "findings": list(summary.findings),
        "problem": None if summary.problem is None else summary.problem.as_dict(),
        "is_waiting": summary.is_waiting,
    }
