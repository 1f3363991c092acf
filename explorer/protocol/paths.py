"""Paths of data files and how they are compared (spec: Add File and Remove File).

A path in the log is a URI reference: percent-encoded, relative to the table's
root, or absolute. It is decoded exactly once to reach the store, so the
partition folder `a%20b` that Hive escaping made stands as `a%2520b` in the log.
"""

from __future__ import annotations

import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

# RFC 3986: what may stand in a path segment as it is; `/` parts the segments.
_SAFE = "/-._~!$&'()*+,;=:@"


def decode_path(path: str) -> str:
    """The store's name of a path of the log: `a%20b` becomes `a b`."""
    if "%" not in path:
        return path
    from urllib.parse import unquote  # noqa: PLC0415  # a small table opens without it

    return unquote(path, errors="strict")


def encode_path(path: str) -> str:
    """The inverse: `a b` becomes `a%20b`, `50%` becomes `50%25`."""
    from urllib.parse import quote  # noqa: PLC0415  # as above

    return quote(path, safe=_SAFE)


def is_absolute(path: str) -> bool:
    """Whether a path of the log names its place without the table's root."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def normalise_path(path: str) -> str:
    """The form in which two paths of the log are compared.

    Only absolute paths of the local file system have several forms: `/a`,
    `file:/a` and `file:///a` are the same file and become `file:/a`.
    """
    if path.startswith("/"):
        return "file:/" + path.lstrip("/")
    if path[:5].lower() == "file:":
        return "file:/" + path[5:].lstrip("/")
    return path
