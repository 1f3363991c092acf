"""Users files, roles, password hashes, and how often somebody may try."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from explorer.errors import InvalidArgumentError
from widgets.served._throttle import KEYS_KEPT, Throttle
from widgets.session.people import (
    LONGEST,
    Listed,
    Person,
    UsersFile,
    check_password,
    hash_password,
    render_user,
)

PASSWORD = "correct horse battery"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "users.txt"
    lines = [
        "# the team",
        "",
        render_user("anna", "maintenance", PASSWORD),
        render_user("ben", "read-only", "another one"),
    ]
    place.write_text("\n".join(lines))
    return place


def test_people_come_in_with_their_own_password(file: Path) -> None:
    users = UsersFile(file)
    assert users.check("anna", PASSWORD)
    for name, password in [("anna", "another one"), ("ben", PASSWORD), ("carl", PASSWORD),
                           ("", ""), ("anna", ""), ("anna", "x" * (LONGEST + 1)),
                           ("anna\0", PASSWORD)]:  # fmt: skip
        assert not users.check(name, password)


def test_roles_are_those_of_the_file(file: Path) -> None:
    users = UsersFile(file)
    roles = [users.role_of(name) for name in ("anna", "ben", "carl")]
    assert roles == ["maintenance", "read-only", None]


def test_a_person_who_is_taken_out_of_the_file_has_no_role_any_more(file: Path) -> None:
    users = UsersFile(file)
    file.write_text(render_user("ben", "read-only", "another one"))
    os.utime(file, ns=(1, 1))
    assert users.role_of("anna") is None
    assert not users.check("anna", PASSWORD)
    assert users.role_of("ben") == "read-only"


def test_a_file_that_becomes_unreadable_changes_nothing_and_is_told(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    users = UsersFile(file)
    file.write_text("half a line")
    os.utime(file, ns=(1, 1))
    assert users.role_of("anna") == "maintenance"
    assert "The people known before stay." in caplog.text


@pytest.mark.parametrize(
    "text",
    ["", "# nobody", "anna", "anna:maintenance", "anna:admin:{hash}", ":read-only:{hash}",
     "anna:read-only:secret", "anna:read-only:{hash}:more",
     "anna:read-only:scrypt$2$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAA",
     "anna:read-only:{hash}\nanna:read-only:{hash}"],
)  # fmt: skip
def test_a_users_file_that_is_none_is_refused_without_repeating_it(
    tmp_path: Path, text: str
) -> None:
    place = tmp_path / "users.txt"
    hashed = hash_password(PASSWORD)
    place.write_text(text.format(hash=hashed))
    with pytest.raises(InvalidArgumentError) as error:
        UsersFile(place)
    assert hashed not in str(error.value)
    assert "secret" not in str(error.value)


def test_a_password_has_another_hash_each_time_and_fits_both() -> None:
    first, second = hash_password(PASSWORD), hash_password(PASSWORD)
    assert first != second
    assert PASSWORD not in first
    assert check_password(PASSWORD, first)
    assert check_password(PASSWORD, second)
    assert not check_password(PASSWORD + " ", first)


def test_a_hash_is_in_no_text_of_a_person() -> None:
    hashed = hash_password(PASSWORD)
    assert hashed not in repr(Person(name="anna", role="read-only", hashed=hashed))


@pytest.mark.parametrize("name", ["", " ", "a:b", " anna", "anna\n", "a\tb"])
def test_a_name_that_would_break_the_file_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        render_user(name, "read-only", PASSWORD)


def test_people_of_a_provider_look_and_maintainers_change() -> None:
    assert Listed(["anna"]).role_of("anna") == "maintenance"
    assert Listed(["anna"]).role_of("anybody") == "read-only"
    members = Listed(["anna"], ["ben"])
    assert [members.role_of(name) for name in ("anna", "ben", "carl")] == [
        "maintenance",
        "read-only",
        None,
    ]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_tries_are_counted_over_a_window() -> None:
    clock = Clock()
    throttle = Throttle({"address": 3}, 60, clock)
    assert [throttle.wait({"address": "a"}) for _ in range(3)] == [0, 0, 0]
    clock.now = 20
    assert throttle.wait({"address": "a"}) == 40
    assert throttle.wait({"address": "b"}) == 0
    clock.now = 61
    assert throttle.wait({"address": "a"}) == 0


def test_a_try_counts_under_each_of_its_keys() -> None:
    throttle = Throttle({"address": 100, "name": 2, "all": 5}, 60, Clock())
    tries = [{"address": str(n), "name": "anna", "all": ""} for n in range(3)]
    assert [bool(throttle.wait(keys)) for keys in tries] == [False, False, True]
    others = [{"address": "x", "name": str(n), "all": ""} for n in range(4)]
    assert [bool(throttle.wait(keys)) for keys in others] == [False, False, False, True]


def test_success_forgets_the_tries_of_an_address() -> None:
    throttle = Throttle({"address": 1}, 60, Clock())
    throttle.wait({"address": "a"})
    throttle.forget("address", "a")
    assert throttle.wait({"address": "a"}) == 0


def test_one_try_is_taken_back_and_those_of_others_stay() -> None:
    throttle = Throttle({"all": 2}, 60, Clock())
    throttle.wait({"all": ""})
    throttle.wait({"all": ""})
    throttle.take_back("all", "")
    throttle.take_back("nothing", "")
    assert [bool(throttle.wait({"all": ""})) for _ in range(2)] == [False, True]


def test_who_guesses_under_many_names_fills_no_memory() -> None:
    throttle = Throttle({"name": 1}, 60, Clock())
    for number in range(KEYS_KEPT + 10):
        throttle.wait({"name": str(number)})
    assert throttle.wait({"name": "0"}) == 0  # forgotten, the oldest first
    assert throttle.wait({"name": str(KEYS_KEPT + 9)}) > 0
