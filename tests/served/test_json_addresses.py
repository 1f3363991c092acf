"""What stands at `/api/…`: the command line's JSON, for those who may see the page, and nothing
for anybody else."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from explorer.answers.registry import ANSWERS
from explorer.cli.main import run
from explorer.errors import DeltaError, InvalidArgumentError
from tests.conftest import ROOT
from tests.corpus import READABLE, place_table, table_name
from tests.sampling import sample
from tests.served.conftest import Answer, Server
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets.served._json_addresses import (
    USUAL_ROWS,
    answer,
    read_question,
    served_answers,
    taken_parameters,
)
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import InlineRunner

ASKED: dict[str, dict[str, str]] = {
    "actions": {"version": "0"},
    "conflicts": {"read_version": "0", "limit": "5"},
    "diff": {"older": "0", "newer": "1", "layer": "files"},
    "files": {"sort": "size", "descending": "true", "limit": "1"},
    "history": {"limit": "1"},
    "skip": {"where": "1 = 1"},
}
"""What stands in the address besides the table, where it is not nothing."""

LINES: dict[str, list[str]] = {
    "actions": ["0"],
    "conflicts": ["--read-version=0", "--limit=5"],
    "diff": ["0", "1", "--layer=files"],
    "files": ["--sort=size", "--descending", "--limit=1"],
    "history": ["--limit=1"],
    "schema_history": ["--history"],
    "skip": ["1 = 1"],
}
"""The same for the command line."""

VERBS = {"schema_history": "schema"}
"""The verb of an address that has another name."""


@pytest.fixture(scope="module")
def orders(lake: Path) -> Path:
    log = LogFolder.__new__(LogFolder)
    log.root, log.log = lake / "orders", lake / "orders" / "_delta_log"
    log.commit(1, [add("b.parquet", size=20)])
    return log.root


@pytest.fixture(scope="module")
def server(lake: Path, users: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    state = tmp_path_factory.mktemp("state")
    words = ("--scan", str(lake), "--root", str(lake), "--users", str(users), "--maintenance")
    running = Server(state, *words)
    yield running
    said = running.stop()
    assert "Traceback" not in said, said
    assert not list(state.rglob("*.json")), "asking leaves nothing behind"


@pytest.fixture(scope="module")
def ben(server: Server) -> str:
    """The cookie of somebody who may only look."""
    return server.cookie_of("ben")


def ask(server: Server, verb: str, cookie: str, table: object, **headers: str) -> Answer:
    query = urlencode({"table": str(table), **ASKED.get(verb, {})})
    return server.ask(f"/api/{verb}?{query}", Cookie=cookie, **headers)


def error_of(said: Answer) -> dict[str, Any]:
    assert said.headers["Content-Type"] == "application/json; charset=utf-8"
    error: dict[str, Any] = json.loads(said.body)["error"]
    assert all(error[name] for name in ("kind", "problem", "reason", "remedy"))
    return error


def without_now(text: str) -> list[Any]:
    """The documents without what depends on when one asks."""
    documents = [json.loads(line) for line in text.splitlines()]
    for document in documents:
        document.pop("windows", None)
    return documents


@pytest.mark.parametrize("verb", served_answers())
def test_an_address_gives_what_the_command_line_prints(
    server: Server, ben: str, orders: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ask(server, verb, ben, orders)
    assert said.status == 200, said.body
    assert run([VERBS.get(verb, verb), str(orders), *LINES.get(verb, []), "--json"]) == 0
    assert without_now(said.body) == without_now(capsys.readouterr().out)
    assert said.headers["X-Content-Type-Options"] == "nosniff"
    assert said.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in said.headers


def say(verb: str, place: Path, asked: dict[str, str]) -> str:
    """What stands at the address, or the error of it."""
    services = PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents()
    )
    arguments = {key: [text.encode()] for key, text in {**asked, "table": str(place)}.items()}
    try:
        return answer(*read_question(verb, arguments, ()), services)
    except DeltaError as error:
        return json.dumps({"error": error.as_dict()})


@pytest.mark.parametrize("table", sample(READABLE, 40, of="json addresses"), ids=table_name)
def test_addresses_give_of_real_tables_what_the_command_line_prints(
    table: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = place_table(table, tmp_path)
    for verb in served_answers():
        asked, words = dict(ASKED.get(verb, {})), list(LINES.get(verb, []))
        if "limit" in taken_parameters(ANSWERS[verb]).keys() - asked.keys():
            asked["limit"] = "9"
            words.append("--limit=9")
        said = say(verb, place, asked)
        code = run([VERBS.get(verb, verb), str(place), *words, "--json"])
        printed, problems = capsys.readouterr()
        assert without_now(said) == without_now(printed + problems), verb
        assert code == 0 or "error" in json.loads(said), verb


def test_advice_is_as_short_as_on_the_command_line_unless_more_is_asked_for() -> None:
    asked = {"table": [b"/lake/orders"]}
    question, _ = read_question("advice", asked, ())
    assert question.limit is None
    question, _ = read_question("advice", {**asked, "limit": [b"5"]}, ())
    assert question.limit == 5
    question, _ = read_question("files", asked, ())
    assert question.limit == USUAL_ROWS


@pytest.mark.parametrize("verb", served_answers())
def test_an_address_takes_what_its_line_in_the_documentation_names(verb: str) -> None:
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith(f"| `/api/{verb}` |"))
    named = re.findall(r"`(\w+)(?:=\w+)?`( \(repeatable\))?", line.split("|")[3])
    taken = taken_parameters(ANSWERS[verb]).values()
    assert sorted((name, bool(more)) for name, more in named) == sorted(
        (item.name, item.repeats) for item in taken
    )


def test_the_documentation_names_no_other_address() -> None:
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `/api/(\w+)` \|", text, re.MULTILINE)) == sorted(
        [*served_answers(), "tables"]
    )


def test_what_reads_more_than_the_log_is_no_parameter_of_an_address(orders: Path) -> None:
    for verb, parameter in (("health", "files"), ("reach", "files"), ("dv", "file")):
        with pytest.raises(InvalidArgumentError, match="no parameter"):
            read_question(verb, {"table": [b"t"], parameter: [b"true"]}, ())


def test_who_has_not_signed_in_gets_no_answer(server: Server, orders: Path) -> None:
    said = ask(server, "history", "", orders)
    assert said.status == 401
    assert "orders" not in said.body
    error_of(said)
    forged = ask(server, "history", f"delta-explorer-login-{server.port}=anna", orders)
    assert forged.status == 401


@pytest.mark.parametrize(
    "place", ["{lake}/../secret/users", "{lake}/orders/../../secret/users", "http://169.254.169.254/x"]
)  # fmt: skip
def test_a_place_outside_of_what_is_served_is_refused(
    server: Server, ben: str, lake: Path, place: str
) -> None:
    said = ask(server, "inspect", ben, place.format(lake=lake))
    assert said.status == 403
    assert error_of(said)["kind"] == "storage_refused"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"},
    ],
    ids=str,
)
def test_a_page_of_another_site_asks_for_nothing(
    server: Server, ben: str, orders: Path, headers: dict[str, str]
) -> None:
    said = ask(server, "history", ben, orders, **headers)
    assert said.status == 403
    assert "another site" in error_of(said)["problem"]


def test_a_link_on_another_site_leads_to_no_store_that_nobody_named(
    server: Server, ben: str, orders: Path
) -> None:
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert ask(server, "history", ben, orders, **link).status == 200
    assert ask(server, "history", ben, "s3://elsewhere/orders", **link).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_but_get_is_answered(server: Server, ben: str, orders: Path, method: str) -> None:
    query = urlencode({"table": str(orders)})
    said = server.ask(f"/api/history?{query}", method=method, body="", Cookie=ben)
    assert said.status == 405
    error_of(said)


@pytest.mark.parametrize(
    "verb",
    ["vacuum", "optimize", "restore", "preview", "rows", "changes", "why", "foreign", "serve"],
)
def test_what_changes_a_table_or_reads_its_rows_has_no_address(
    server: Server, orders: Path, verb: str
) -> None:
    said = ask(server, verb, server.cookie_of("anna"), orders)
    assert said.status == 400
    assert error_of(said)["problem"] == f"There is no verb '{verb}' here."


def test_the_addresses_and_the_tables_are_listed(server: Server, ben: str, orders: Path) -> None:
    said = server.ask("/api/", Cookie=ben)
    listed = {one["address"]: one["parameters"] for one in json.loads(said.body)["addresses"]}
    assert listed.keys() == {f"/api/{verb}" for verb in (*served_answers(), "tables")}
    assert "where" in [one["name"] for one in listed["/api/skip"] if one["is_required"]]
    tables = [json.loads(line) for line in server.ask("/api/tables", Cookie=ben).body.splitlines()]
    (found,) = (one for one in tables if one["uri"] == str(orders))
    assert found["name"] == "orders"
    assert found.keys() >= {"version", "num_files", "files_saved", "findings", "is_waiting"}
    for path in ("/api/", "/api/tables"):
        assert server.ask(path).status == 401


@pytest.mark.parametrize("is_scanned", [False, True], ids=["one table", "a folder"])
def test_who_asks_for_the_tables_has_them_looked_at(
    orders: Path, tmp_path: Path, is_scanned: bool
) -> None:
    server = Server(tmp_path, *(["--scan", str(orders.parent)] if is_scanned else [str(orders)]))
    try:
        for _ in range(100):  # nobody opens the list
            lines = server.ask("/api/tables").body.splitlines()
            (found,) = (one for one in map(json.loads, lines) if one["uri"] == str(orders))
            if not found["is_waiting"]:
                break
            assert found["version"] is None
            time.sleep(0.1)
        assert found["version"] is not None
        assert found["problem"] is None
    finally:
        server.stop()


def test_an_error_says_what_was_meant_and_where_to_look(
    server: Server, ben: str, orders: Path
) -> None:
    error = error_of(ask(server, "helth", ben, orders))
    assert error["reason"].startswith("Did you mean 'health'?")
    assert "/api/" in error["remedy"]
    error = error_of(server.ask("/api/skip", Cookie=ben))
    assert error["problem"] == "The address is incomplete: it lacks table and where."


@pytest.mark.parametrize(
    "address",
    [
        "/no/<b>such</b>/page",
        "/static/js/<b>such</b>.js",
        "/static/extensions/panel/<b>such</b>.css",
        "/static/js/%00<b>such</b>",
        "/fonts/<b>such</b>.woff2",
    ],
)
def test_an_address_that_leads_nowhere_leads_back(server: Server, address: str) -> None:
    said = server.ask(address)
    assert said.status == 404
    assert 'href="/?table="' in said.body
    assert "<b>" not in said.body


def test_a_version_that_does_not_exist_is_not_found(server: Server, ben: str, orders: Path) -> None:
    query = urlencode({"table": str(orders), "version": "999"})
    said = server.ask(f"/api/files?{query}", Cookie=ben)
    assert said.status == 404
    assert error_of(said)["kind"] == "version_not_found"


def test_who_asks_too_often_waits(lake: Path, tmp_path: Path) -> None:
    server = Server(tmp_path, "--scan", str(lake))
    try:
        answers = [server.ask("/api/nothing") for _ in range(125)]
        assert {said.status for said in answers[:100]} == {400}
        assert answers[-1].status == 429
        assert int(answers[-1].headers["Retry-After"]) > 0
        error_of(answers[-1])
    finally:
        server.stop()


@pytest.mark.parametrize(
    "arguments",
    [
        {"option": [b"key=1"]},
        {"version": [b"-1"]},
        {"version": [b"1"], "timestamp": [b"x"], "verb": [b"y"]},
        {"limit": [b"0"]},
        {"limit": [b"10001"]},
        {"limit": ["٣".encode()]},
        {"descending": [b"yes"]},
        {"version": [b"1", b"2"]},
        {"contains": [b"\xff"]},
        {"contains": [b"x" * 10_001]},
        {"table": [b"a", b"b"]},
    ],
    ids=",".join,
)
def test_what_an_address_gets_wrong_is_said(arguments: dict[str, list[bytes]]) -> None:
    with pytest.raises(InvalidArgumentError):
        read_question("files", {"table": [b"t"], **arguments}, ())


def test_the_one_table_of_a_server_need_not_be_named() -> None:
    assert read_question("files", {}, ("/lake/orders",))[1] == "/lake/orders"
    with pytest.raises(InvalidArgumentError, match="is incomplete"):
        read_question("files", {}, ("/lake/orders", "/lake/events"))


def test_an_answer_has_a_largest_size(orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents()
    )
    question = read_question("log", {"table": [str(orders).encode()]}, ())
    whole = answer(*question, services)
    assert len(whole.splitlines()) == 2
    monkeypatch.setattr("widgets.served._json_addresses.LARGEST_ANSWER", len(whole) - 1)
    with pytest.raises(DeltaError, match="too long") as caught:
        answer(*question, services)
    assert caught.value.kind == "limit_exceeded"


def test_problems_of_a_table_stand_behind_its_rows(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "broken")
    log.commit(0, [PROTOCOL, metadata(), add("a.parquet", stats='{"numRecords":')])
    services = PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents()
    )
    said = answer(*read_question("stats", {"table": [str(log.root).encode()]}, ()), services)
    *rows, last = map(json.loads, said.splitlines())
    assert rows
    assert not any("problem" in row for row in rows)
    assert last["problem"]["kind"] == "log_corrupt"
