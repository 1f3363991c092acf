"""Behind a real nginx, below a path of its own, as docs/serving.md says."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import WAIT_MS
from tests.ports import free_port
from tests.served.conftest import PASSWORDS, ROOT, Answer, Server, wait_for

DOCUMENT = ROOT / "docs" / "serving.md"


def documented_location() -> str:
    """The block that docs/serving.md tells people to write."""
    found = re.search(r"```nginx\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


class Proxy:
    """An nginx with the documented location, in front of a server."""

    def __init__(self, folder: Path, port: int, inner: int) -> None:
        self.port = port
        location = documented_location().replace("127.0.0.1:5006", f"127.0.0.1:{inner}")
        config = folder / "nginx.conf"
        temporary = "".join(
            f"{kind}_temp_path {folder}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config.write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;\n"
            + ("user root;\n" if os.geteuid() == 0 else "")
            + f"events {{}}\nhttp {{ access_log {folder}/access.log;\n{temporary}"
            f"server {{ listen 127.0.0.1:{port};\n{location} }} }}\n"
        )
        executable = shutil.which("nginx") or "/usr/sbin/nginx"
        if not Path(executable).exists():
            pytest.skip("no nginx: install the package `nginx-light`")
        self.process = subprocess.Popen([executable, "-c", str(config)])
        wait_for(self._listens, "nginx listens")

    def _listens(self) -> bool:
        assert self.process.poll() is None, "nginx has ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture(scope="module")
def served(
    lake: Path, users: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, str]]:
    """The server behind its proxy, and the address that browsers know it by."""
    port = free_port()
    server = Server(
        tmp_path_factory.mktemp("state"), "--scan", str(lake), "--users", str(users),
        "--prefix", "/delta", "--origin", f"localhost:{port}", "--behind-proxy",
    )  # fmt: skip
    proxy = Proxy(tmp_path_factory.mktemp("nginx"), port, server.port)
    yield server, f"http://localhost:{port}/delta/"
    proxy.process.terminate()
    proxy.process.wait(60)
    said = server.stop()
    assert "work for the page failed" not in said, said


def through(served: tuple[Server, str], path: str, **headers: str) -> Answer:
    """A request to the proxy."""
    _, address = served
    front = Server.__new__(Server)
    front.port = int(address.split(":")[2].partition("/")[0])
    return front.ask(path, **headers)


@pytest.mark.turns(one_in=2)
def test_the_page_works_below_its_path(
    browser: Browser, served: tuple[Server, str], lake: Path
) -> None:
    _, address = served
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    foreign: list[str] = []
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((address, "blob:", "data:"))
            else foreign.append(request.url)
        ),
    )
    page.goto(f"{address}?{urlencode({'table': str(lake / 'orders'), 'view': 'files'})}")
    page.get_by_label("Name").fill("ben")
    page.get_by_label("Password").fill(PASSWORDS["ben"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="orders")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"^{re.escape(address)}\?table=.*view=files"))
    expect(page.get_by_text("a.parquet").first).to_be_visible()
    page.get_by_role("link", name="All tables").click()
    page.locator("tr[data-do=choose]", has_text="events").first.click()
    expect(page.get_by_role("heading", name="events")).to_be_visible()
    page.get_by_role("link", name="Sign out").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    (held,) = [one for one in context.cookies() if "login" in one["name"]] or [None]
    assert held is None
    context.close()
    assert foreign == []
    assert errors == []


def test_health_answers_below_the_path(served: tuple[Server, str]) -> None:
    assert through(served, "/delta/health").status == 200


def test_cookies_stay_below_the_path_and_are_secure_where_the_proxy_is(
    served: tuple[Server, str],
) -> None:
    server, address = served
    form = urlencode({"name": "ben", "password": PASSWORDS["ben"]})
    host = address.split("/")[2]
    answer = server.ask(
        "/delta/login", method="POST", body=form, Host=host, X_Forwarded_Proto="https"
    )
    assert answer.status == 303
    assert "Path=/delta/" in answer.headers["Set-Cookie"]
    assert "Secure" in answer.headers["Set-Cookie"]


def test_guessing_is_counted_by_who_stands_before_the_proxy(served: tuple[Server, str]) -> None:
    server, address = served
    host = address.split("/")[2]
    form = urlencode({"name": "carl", "password": "guess"})

    def guess(sender: str) -> int:
        return server.ask(
            "/delta/login", method="POST", body=form, Host=host, X_Real_Ip=sender
        ).status

    assert [guess("10.0.0.1") for _ in range(11)] == [403] * 10 + [429]
    assert guess("10.0.0.2") == 403


@pytest.mark.turns(one_in=2)
def test_a_table_that_is_not_served_is_refused_behind_a_proxy(
    browser: Browser, served: tuple[Server, str], lake: Path
) -> None:
    server, address = served
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(address)
    page.get_by_label("Name").fill("anna")
    page.get_by_label("Password").fill(PASSWORDS["anna"])
    page.get_by_role("button", name="Sign in").click()
    outside = str(lake.parent / "secret" / "users")
    for place in (outside, f"{lake}/../secret/users", "file:///etc", "http://localhost:1/t"):
        page.goto(f"{address}?{urlencode({'table': place})}")
        expect(page.get_by_text("This table is not served here.")).to_be_visible()
    context.close()
    assert server.process.poll() is None
