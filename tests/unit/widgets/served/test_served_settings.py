"""What goes together on a server, who reaches it, and that no text of it holds a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import widgets.verbs
from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError
from widgets.served._login import Logins
from widgets.served._oauth import oauth_options
from widgets.served.settings import Settings, check_settings, read_oauth
from widgets.session.access import Access
from widgets.session.people import UsersFile
from widgets.verbs import SECRET as SECRET_NAME
from widgets.verbs import read_secret

SECRET = "hunter2-hunter2-hunter2-hunter2-hunter2"
BEYOND: dict[str, Any] = {"address": "0.0.0.0"}


@pytest.mark.parametrize(
    ("named", "is_local"),
    [
        ({}, True),
        ({"address": "localhost"}, True),
        ({"address": "::1"}, True),
        ({"origins": ("localhost:8080",)}, True),
        (BEYOND, False),
        ({"address": ""}, False),
        ({"address": "192.168.1.5"}, False),
        ({"behind_proxy": True, "origins": ("localhost",)}, False),
        ({"origins": ("explorer.example.org",)}, False),
        ({"origins": ("localhost:8080", "explorer.example.org:443")}, False),
    ],
)
def test_a_page_behind_a_name_or_a_proxy_is_reached_by_others(
    named: dict[str, Any], is_local: bool
) -> None:
    assert Settings(**named).is_local is is_local


@pytest.mark.parametrize(
    "named",
    [
        {**BEYOND, "maintenance": True},
        {"maintenance": True, "origins": ("example.org",)},
        {"maintenance": True, "behind_proxy": True, "origins": ("localhost",)},
        {**BEYOND, "users": "u"},
        {**BEYOND, "users": "u", "cookie_secret": SECRET, "by": "ada"},
        {"by": "caf\udce9"},
        {**BEYOND, "users": "u", "cookie_secret": "short"},
        {"oauth": "o"},
        {"users": "u", "oauth": "o", "cookie_secret": SECRET},
        {"behind_proxy": True},
        {"origins": ("https://example.org",)},
        {"origins": ("*",)},
        {"origins": ("*.example.org",)},
        {"uris": (" ",)},
        {"roots": ("",)},
    ],
)
def test_what_does_not_go_together_is_refused(named: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        check_settings(Settings(**named))
    assert error.value.remedy
    assert SECRET not in str(error.value.as_dict())


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"maintenance": True},
        {"users": "u"},
        BEYOND,
        {**BEYOND, "users": "u", "cookie_secret": SECRET, "maintenance": True},
        {**BEYOND, "oauth": "o", "cookie_secret": SECRET, "maintenance": True},
    ],
)
def test_what_goes_together_is_taken(named: dict[str, Any]) -> None:
    check_settings(Settings(**named))


def test_no_text_of_the_settings_holds_a_secret() -> None:
    settings = Settings(
        uris=(f"https://u:{SECRET}@h/t?sig={SECRET}",),
        roots=(f"https://u:{SECRET}@h/r",),
        scans=(f"https://u:{SECRET}@h/s",),
        storage_options={"key": SECRET},
        cookie_secret=SECRET,
    )
    access = Access(roots=settings.uris)
    assert SECRET not in repr(settings) + str(settings) + repr(access)
    with pytest.raises(UnsupportedError) as refused:
        access.check("https://h/other?sig=mine-mine")
    assert SECRET not in str(refused.value.as_dict())
    assert "mine-mine" not in str(refused.value.as_dict())


@pytest.mark.parametrize(
    "place",
    [
        "http://169.254.169.254/latest",
        "https://169.254.169.254/t",
        "http://2852039166/t",
        "http://0xA9FEA9FE/t",
        "http://169.254.43518/t",
        "http://[fe80::1]/t",
        "http://[::ffff:169.254.169.254]/t",
        "http://[fd00:ec2::254]/t",
        "http://metadata.google.internal/t",
        "http://METADATA.google.internal./t",
        "simplecache::http://169.254.169.254/t",
        "http://user@169.254.169.254:80/t",
    ],
)
def test_where_clouds_hand_out_credentials_nothing_opens_not_even_here(place: str) -> None:
    with pytest.raises(DeltaError) as refused:
        Access().check(place)
    assert refused.value.kind == "storage_refused"


@pytest.mark.parametrize(
    "place", ["http://localhost:9000/t", "s3://lake/t", "/lake/t", "http://[x/t"]
)
def test_elsewhere_a_page_of_this_machine_opens_what_it_is_told(place: str) -> None:
    Access().check(place)


@pytest.fixture
def app() -> typer.Typer:
    """A command line with the verbs of this package."""
    line = typer.Typer()
    line.callback()(lambda: None)
    widgets.verbs.register_serve(line)
    return line


OAUTH: dict[str, Any] = {"provider": "github", "key": "id", "secret": SECRET}


def test_an_oauth_file_says_who_may_change(tmp_path: Path) -> None:
    place = tmp_path / "oauth.json"
    place.write_text(json.dumps({**OAUTH, "maintainers": ["anna"], "members": ["ben"]}))
    found = read_oauth(str(place))
    assert (found.maintainers, found.members) == (("anna",), ("ben",))
    assert SECRET not in repr(found)
    options = oauth_options(found, SECRET, "/delta/")
    assert options["oauth_secret"] == SECRET
    for name in ("oauth_error_template", "logout_template"):
        text = Path(options[name]).read_text(encoding="utf-8")
        assert "//" not in text.replace("http://www.w3.org", "")  # nothing from elsewhere
        assert 'href="/delta/"' in text


@pytest.mark.parametrize(
    "document",
    ["{", "[]", "{}", {**OAUTH, "secret": ""}, {**OAUTH, "more": SECRET},
     {**OAUTH, "members": [1]}, {"provider": "github"}],
)  # fmt: skip
def test_an_oauth_file_that_is_none_is_refused_without_repeating_it(
    tmp_path: Path, document: Any
) -> None:
    place = tmp_path / "oauth.json"
    place.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(InvalidArgumentError) as error:
        read_oauth(str(place))
    assert SECRET not in str(error.value.as_dict())


def test_a_provider_that_panel_does_not_know_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "oauth.json"
    place.write_text(json.dumps({**OAUTH, "provider": "nobody"}))
    with pytest.raises(InvalidArgumentError) as error:
        oauth_options(read_oauth(str(place)), SECRET, "/")
    assert "github" in error.value.reason


class Asked:
    """The part of an HTTP request that a cookie is read from."""

    def __init__(self, **cookies: str) -> None:
        self.cookies = {
            name: type("Morsel", (), {"value": value}) for name, value in cookies.items()
        }


def test_a_cookie_of_another_server_or_of_nobody_is_nobody() -> None:
    mine, other = Logins(SECRET, 5006), Logins(SECRET[::-1], 5006)
    value = mine.issue("anna")
    assert mine.read(None) is None
    login = mine.read(Asked(**{mine.cookie: value}))
    assert login is not None
    assert login.name == "anna"
    changed = value[:-1] + ("1" if value.endswith("0") else "0")
    for forged in (other.issue("anna"), changed, value.replace("|", "", 1), "", "x"):
        assert mine.read(Asked(**{mine.cookie: forged})) is None
    assert Logins(SECRET, 5007).read(Asked(**{Logins(SECRET, 5007).cookie: value})) is None


def test_signing_out_takes_the_worth_of_every_copy_of_the_cookie() -> None:
    logins = Logins(SECRET, 5006)
    first, second = logins.issue("anna"), logins.issue("anna")
    login = logins.read(Asked(**{logins.cookie: first}))
    assert login is not None
    logins.revoke(login)
    assert logins.read(Asked(**{logins.cookie: first})) is None
    assert logins.read(Asked(**{logins.cookie: second})) is not None


def test_the_line_of_a_person_is_printed_and_taken(app: typer.Typer, tmp_path: Path) -> None:
    words = ["password", "anna", "--maintenance", "--stdin"]
    done = CliRunner().invoke(app, words, input="correct horse\n")
    assert done.exit_code == 0, done.output
    assert "correct horse" not in done.output
    place = tmp_path / "users.txt"
    place.write_text(done.stdout)
    users = UsersFile(place)
    assert users.check("anna", "correct horse")
    assert users.role_of("anna") == "maintenance"


def test_a_short_password_is_refused(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["password", "anna", "--stdin"], input="short\n")
    assert isinstance(done.exception, InvalidArgumentError)


def test_the_cookie_secret_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SECRET_NAME, raising=False)
    assert read_secret(None) is None
    monkeypatch.setenv(SECRET_NAME, SECRET)
    assert read_secret(None) == SECRET
    place = tmp_path / "secret"
    place.write_text(f"{SECRET[::-1]}\n")
    assert read_secret(str(place)) == SECRET[::-1]
    with pytest.raises(InvalidArgumentError):
        read_secret(str(tmp_path / "nowhere"))


def test_every_option_of_serve_reaches_the_server(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(
        widgets.verbs, "serve_tables", lambda uris, **named: asked.update(named, uris=uris)
    )
    monkeypatch.setenv(SECRET_NAME, SECRET)
    words = ["serve", "a", "--catalog", "c.yaml", "--scan", "/lake", "--scan", "s3://b", "--root",
             "/r", "--users", "u", "--oauth", "o", "--prefix", "/delta", "--origin", "h:1",
             "--behind-proxy", "--state-dir", "/s", "--cache", "64", "--no-open",
             "--by", "ada"]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert {name: asked[name] for name in asked if name not in {"port", "address"}} == {
        "uris": ["a"],
        "open_browser": False,
        "storage_options": None,
        "maintenance": False,
        "by": "ada",
        "catalog": "c.yaml",
        "scan": ["/lake", "s3://b"],
        "state_dir": "/s",
        "cache_bytes": 64 * 2**20,
        "roots": ["/r"],
        "users": "u",
        "oauth": "o",
        "cookie_secret": SECRET,
        "prefix": "/delta",
        "origins": ["h:1"],
        "behind_proxy": True,
    }
