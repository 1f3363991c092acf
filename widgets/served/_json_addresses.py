"""`GET /api/VERB?table=…`: what `delta-explorer VERB --json` prints, of the same tables and for
the same people as the page.

Only the verbs that answer from the log alone are here. Nothing is changed, no data file is
read, no storage option is taken, and an answer has a largest size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from bokeh.server.views.auth_request_handler import AuthRequestHandler

from explorer.cli import verbs
from explorer.cli.conflicts_verb import conflicts
from explorer.cli.diff_verb import diff
from explorer.cli.engines_verb import engines
from explorer.cli.failures import describe_bug
from explorer.cli.health_verb import health
from explorer.cli.hosting import Host, hosted
from explorer.cli.json_lines import render_json
from explorer.cli.layout_verb import layout
from explorer.cli.reach_verb import reach
from explorer.cli.schema_verb import schema
from explorer.cli.skip_verb import skip
from explorer.cli.statistics_verb import stats
from explorer.cli.vector_verb import dv
from explorer.errors import DeltaError, InvalidArgumentError, Problem, UnsupportedError
from explorer.table.counts import count
from widgets.served._authentication import Authentication
from widgets.served._headers import BARE_POLICY
from widgets.served._session_page import comes_from_elsewhere
from widgets.served._throttle import Throttle
from widgets.session.desk import Desk
from widgets.session.work import Pool, unexpected

ADDRESSES = r"/api/([a-z]{1,20})"
MOST_ROWS = 10_000
USUAL_ROWS = 1_000
LARGEST_ANSWER = 16 * 2**20
"""Bytes. Ten thousand files with long paths take a few MiB."""

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


def _rows(text: str) -> int:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verb:
    """`ask` is the verb's function, `takes` what may stand in the address, `needs` what must.
    `lists` says that the answer is one document a line."""

    ask: Callable[..., None]
    takes: Mapping[str, Callable[[str], Any]]
    needs: Collection[str] = ()
    repeats: Collection[str] = ()
    lists: bool = False


_VERSION = {"version": _whole}
_MOMENT = {"version": _whole, "timestamp": _text}
_LIMIT = {"limit": _rows}
_VERBS: dict[str, _Verb] = {
    "conflicts": _Verb(
        ask=conflicts,
        takes={
            "read_version": _whole, "operation": _text, "where": _text, "isolation_level": _text,
            **_LIMIT,
        },
        needs=("read_version",),
    ),
    "diff": _Verb(
        ask=diff,
        takes={"older": _whole, "newer": _whole, "layer": _text, **_LIMIT},
        needs=("older", "newer"),
        repeats=("layer",),
    ),
    "dv": _Verb(ask=dv, takes={**_MOMENT, **_LIMIT}, lists=True),
    "engines": _Verb(ask=engines, takes=_VERSION, lists=True),
    "features": _Verb(ask=verbs.features, takes=_VERSION, lists=True),
    "files": _Verb(
        ask=verbs.files,
        takes={**_MOMENT, "sort": _text, "descending": _flag, "contains": _text, **_LIMIT},
        lists=True,
    ),
    "health": _Verb(ask=health, takes=_LIMIT),
    "history": _Verb(
        ask=verbs.history,
        takes={"operation": _text, "user": _text, "since": _text, **_LIMIT},
        repeats=("operation",),
        lists=True,
    ),
    "inspect": _Verb(ask=verbs.inspect, takes=_MOMENT),
    "layout": _Verb(
        ask=layout,
        takes={**_MOMENT, "target": _text, "column": _text, **_LIMIT},
        repeats=("column",),
    ),
    "log": _Verb(ask=verbs.log, takes=_LIMIT, lists=True),
    "reach": _Verb(ask=reach, takes=_LIMIT),
    "schema": _Verb(ask=schema, takes={**_VERSION, **_LIMIT}, lists=True),
    "skip": _Verb(ask=skip, takes={**_MOMENT, "where": _text, **_LIMIT}, needs=("where",)),
    "stats": _Verb(
        ask=stats, takes={**_MOMENT, "column": _text}, repeats=("column",), lists=True
    ),
}  # fmt: skip
"""By their name in the address, which is that of the command line."""

VERBS = tuple(_VERBS)

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
        build_desk: Callable[[], Desk],
        hosts: Collection[str],
        throttle: Throttle,
    ) -> None:
        """Called by tornado with the options of the route."""
        self._authentication, self._build_desk, self._hosts = authentication, build_desk, hosts
        self._throttle = throttle
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Security-Policy", BARE_POLICY)

    async def get(self, name: str) -> None:
        """The answer, or `{"error": …}` as the command line has it."""
        desk = self._build_desk()
        if not (self._check_person() and self._check_sender(desk) and self._check_rate()):
            return
        try:
            verb, table, chosen = read_question(name, self.request.arguments, desk.offered)
            lines = await _beside(partial(answer, verb, table, chosen, desk))
        except DeltaError as error:
            status = _STATUS.get(error.kind, _WRONG_WITH_THE_TABLE)
            self._refuse(status, error.as_dict())
        except Exception as error:  # noqa: BLE001 - the outermost place; its text may be a secret
            unexpected(error)
            self._refuse(500, describe_bug(error))
        else:
            kind = "application/x-ndjson" if verb.lists else "application/json"
            self.set_header("Content-Type", f"{kind}; charset=utf-8")
            self.finish(lines)

    def write_error(self, status_code: int, **_: Any) -> None:
        """Called by tornado for other methods, and for what cannot be read as a request."""
        self._say(
            status_code, "This request is not answered.", "Only GET requests are.",
            "See docs/serving.md.",
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

    def _check_sender(self, desk: Desk) -> bool:
        """Whether the person asks, and not a page of another site through their browser: a link
        there may lead where it may lead on the page, and a script may ask for nothing."""
        headers = self.request.headers
        origin = headers.get("Origin")
        is_own = headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
        is_link = headers.get("Sec-Fetch-Mode") == "navigate"
        wanted = self.get_query_argument("table", "")
        may_lead = is_link and not comes_from_elsewhere(self.request, wanted, desk)
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


def read_question(
    name: str, arguments: Mapping[str, Sequence[bytes]], offered: Sequence[str]
) -> tuple[_Verb, str, dict[str, Any]]:
    """The verb, the table and the options that an address names; raises `InvalidArgumentError`."""
    verb = _VERBS.get(name)
    if verb is None:
        raise _wrong(f"There is no verb {name!r} here.", f"The verbs are {', '.join(VERBS)}.")
    given = {key: [_decode(key, value) for value in values] for key, values in arguments.items()}
    known = ("table", *verb.takes)
    for key, values in given.items():
        if key not in known:
            raise _wrong(
                f"There is no parameter {key[:60]!r}.", f"The parameters are {', '.join(known)}."
            )
        if len(values) > 1 and key not in verb.repeats:
            raise _wrong(f"{key!r} is given twice.", "It takes one value.")
    (table,) = given.pop("table", offered if len(offered) == 1 else [""])
    missing = [key for key in verb.needs if key not in given]
    if not table or missing:
        raise _wrong("The address is incomplete.", f"It needs {', '.join(('table', *verb.needs))}.")
    chosen: dict[str, Any] = {"limit": USUAL_ROWS} if "limit" in verb.takes else {}
    for key, values in given.items():
        read = [_parse(key, value, verb.takes[key]) for value in values]
        chosen[key] = read if key in verb.repeats else read[0]
    return verb, table, chosen


def answer(verb: _Verb, table: str, chosen: Mapping[str, Any], desk: Desk) -> str:
    """The lines that the command line would print; raises `DeltaError`."""
    said: list[str] = []
    room = LARGEST_ANSWER

    def write(text: str) -> None:
        nonlocal room
        room -= len(text)
        if room < 0:
            raise UnsupportedError(
                "The answer is too long.",
                reason=f"It has more than {LARGEST_ANSWER:,} characters.",
                remedy="Ask for less with limit=, or use the command line.",
                kind="limit_exceeded",
            )
        said.append(text)

    with hosted(Host(open_table=lambda uri: desk.open(uri).table, write=write)):
        verb.ask(table, **chosen, as_json=True)
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
    return InvalidArgumentError(problem, reason=reason, remedy="See docs/serving.md.")
