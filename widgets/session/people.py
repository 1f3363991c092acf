"""Who may see a served page, and who may change tables from it.

A users file has a line per person, `name:role:hash`, as `delta-explorer password NAME`
prints it. A role is `read-only` or `maintenance`. Passwords are kept as scrypt hashes
(RFC 7914) with a salt each. The file is read again when it changes, so that a person who is
removed from it loses the right to change tables at once, on open pages too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import os
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args

from explorer.errors import InvalidArgumentError
from explorer.storage.local_file import read_local_text

LOG = logging.getLogger(__name__)

Role = Literal["read-only", "maintenance"]
ROLES: tuple[Role, ...] = get_args(Role)

LONGEST = 1_000
"""Characters of a name or password; longer ones are refused before they cost anything."""

# 16 MiB and some 50 ms a guess (RFC 7914, parameters for interactive logins)
_COST, _BLOCK, _LANES = 2**14, 8, 1
_SALT = 16


class People(Protocol):
    """Roles by name."""

    def role_of(self, name: str) -> Role | None:
        """The role of a person now; None for somebody who may not come in."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One line of a users file."""

    name: str
    role: Role
    hashed: str = field(repr=False)


class UsersFile:
    """The people of a users file, as it is now.

    Raises `InvalidArgumentError` where the file cannot be read at first. A later change that
    cannot be read changes nothing, and the log says so.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self._file = Path(file)
        self._lock = threading.Lock()
        self._stamp = self._look()
        self._people = read_users(self._file)
        # somebody who is not in the file takes as long as somebody who is
        self._nobody = hash_password(secrets.token_urlsafe())

    def role_of(self, name: str) -> Role | None:
        """See `People.role_of`."""
        person = self._now().get(name)
        return None if person is None else person.role

    def check(self, name: str, password: str) -> bool:
        """Whether it is this person's password; takes some 50 ms and 16 MiB."""
        if len(name) > LONGEST or len(password) > LONGEST:
            return False
        person = self._now().get(name)
        fits = check_password(password, self._nobody if person is None else person.hashed)
        return fits and person is not None

    def _now(self) -> Mapping[str, Person]:
        with self._lock:
            stamp = self._look()
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._people = read_users(self._file)
                except InvalidArgumentError as error:
                    LOG.error("%s %s The people known before stay.", error.problem, error.reason)
            return self._people

    def _look(self) -> tuple[int, int, int]:
        try:
            found = self._file.stat()
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_size, found.st_ino


class Listed:
    """People whom somebody else has let in by name: `maintainers` may change tables, the
    others look. Where `members` are given, nobody else comes in."""

    def __init__(self, maintainers: Iterable[str], members: Iterable[str] | None = None) -> None:
        self._maintainers = frozenset(maintainers)
        self._members = None if members is None else frozenset(members) | self._maintainers

    def role_of(self, name: str) -> Role | None:
        """See `People.role_of`."""
        if name in self._maintainers:
            return "maintenance"
        return "read-only" if self._members is None or name in self._members else None


def read_users(file: Path) -> Mapping[str, Person]:
    """The people in a users file, by name; raises `InvalidArgumentError`."""
    try:
        lines = read_local_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "It is not text."
        raise _unusable(file, reason) from error
    people: dict[str, Person] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        person = _parse_person(line.strip())
        if person is None:
            raise _unusable(file, f"Line {number} is not name:role:hash.")
        if person.name in people:
            raise _unusable(file, f"Line {number} names somebody a second time.")
        people[person.name] = person
    if not people:
        raise _unusable(file, "It names nobody.")
    return people


def render_user(name: str, role: Role, password: str) -> str:
    """The line of one person; raises `InvalidArgumentError` for a name that cannot be one."""
    if not name.strip() or name != name.strip() or ":" in name or not name.isprintable():
        raise InvalidArgumentError(
            "This name cannot be used.",
            reason="It is empty, begins or ends with a space, or holds a colon or a control "
            "character.",
            remedy="Choose another, such as anna or anna@example.org.",
        )
    return f"{name}:{role}:{hash_password(password)}"


def hash_password(password: str) -> str:
    """`scrypt$16384$8$1$salt$hash`, salt and hash in base64, another one each time."""
    salt = os.urandom(_SALT)
    digest = _derive(password, salt, (_COST, _BLOCK, _LANES))
    parts = (_encode(salt), _encode(digest))
    return "$".join(("scrypt", str(_COST), str(_BLOCK), str(_LANES), *parts))


def check_password(password: str, hashed: str) -> bool:
    """Whether the password has that hash; compared in constant time."""
    parsed = _parse_hash(hashed)
    if parsed is None:
        return False
    costs, salt, wanted = parsed
    return hmac.compare_digest(_derive(password, salt, costs), wanted)


def _derive(password: str, salt: bytes, costs: tuple[int, int, int]) -> bytes:
    n, r, p = costs
    secret = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=2**28, dklen=32)


def _parse_person(line: str) -> Person | None:
    parts = line.split(":")
    if len(parts) != 3 or not parts[0].strip() or _parse_hash(parts[2]) is None:
        return None
    role = next((role for role in ROLES if role == parts[1]), None)
    return None if role is None else Person(name=parts[0], role=role, hashed=parts[2])


def _parse_hash(hashed: str) -> tuple[tuple[int, int, int], bytes, bytes] | None:
    kind, *rest = hashed.split("$")
    if kind != "scrypt" or len(rest) != 5 or not all(part.isdecimal() for part in rest[:3]):
        return None
    n, r, p = (int(part) for part in rest[:3])
    # weaker ones are no protection, larger ones let a line of the file stop the server
    if not (2**14 <= n <= 2**17 and n & (n - 1) == 0 and r == _BLOCK and 1 <= p <= 4):
        return None
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in rest[3:])
    except (binascii.Error, ValueError):
        return None
    return ((n, r, p), salt, digest) if len(salt) >= 8 and len(digest) == 32 else None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unusable(file: Path, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The users file {file} cannot be used.",
        reason=reason,
        remedy="Write a line per person as `delta-explorer password NAME` prints it.",
    )
