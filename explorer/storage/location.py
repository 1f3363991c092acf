"""Where a table lies, as people write it.

Plain paths are taken as they are (`50% off` is a folder of that name); `file:`
URLs are percent-decoded; every other URL is handed to fsspec unchanged. What
may be shown never holds user info or a query: that is where credentials hide.
"""

from __future__ import annotations

import os
import posixpath
import re

from explorer.errors import InvalidArgumentError
from explorer.records import record

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<rest>.*)", re.DOTALL)

# `abfss://container@account`: what stands before the @ is a name, not a user
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})
_CHAINED = re.compile(r"(.*::)([A-Za-z][A-Za-z0-9+.-]*://.*)", re.DOTALL)
# several names of one store
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}
_CHAIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)::")


@record
class Location:
    """A parsed place: `scheme` is "file" for local folders.

    `target` is the absolute local path, or the URL as fsspec wants it and thus
    perhaps with secrets; `shown` is free of them. Neither ends in a slash.
    """

    scheme: str
    target: str
    shown: str

    def __repr__(self) -> str:
        """Only what may be shown."""
        return f"Location({self.shown!r})"


def parse_location(uri: str | os.PathLike[str]) -> Location:
    """The place that `uri` names; raises `InvalidArgumentError` for what names none."""
    text = os.fspath(uri) if isinstance(uri, str | os.PathLike) else ""
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise InvalidArgumentError(
            "This is not the place of a table.",
            reason="It is empty, not text, or holds a NUL character.",
            remedy="Give a folder, a file: URL or another URL such as s3://bucket/table.",
        )
    if (chain := _CHAIN.match(text)) is not None:  # such as simplecache::s3://bucket/table
        return Location(scheme=chain[1], target=_trimmed(text), shown=_without_secrets(text))
    match = _SCHEME.fullmatch(text)
    # a local folder called `a:b` is a folder if it exists; a URL has `//` or is `file:`
    if match is None or not (match["rest"].startswith("//") or match["scheme"].lower() == "file"):
        return _local(os.path.expanduser(text))
    scheme = match["scheme"].lower()
    if scheme in {"file", "local"}:
        return _local(_file_url_path(text, match["rest"]))
    return Location(scheme=scheme, target=_trimmed(text), shown=_without_secrets(text))


def canonical_place(place: Location) -> str:
    """One spelling for each place: links resolved, `.` and `..` gone, no query."""
    if place.scheme == "file":
        return os.path.realpath(place.target)
    # every part of a chain is asked, so that all of them count
    outer, inner = "", place.target
    if (chained := _CHAINED.match(inner)) is not None:
        outer, inner = chained[1], chained[2]
    scheme, _, rest = inner.partition("://")
    rest = rest.partition("?")[0].partition("#")[0]
    scheme = _SAME.get(scheme.lower(), scheme.lower())
    return f"{outer}{scheme}://{posixpath.normpath(rest) if rest else ''}"


def is_below(place: str, root: str) -> bool:
    """Whether a canonical place is another one, or lies below it."""
    return place == root or place.startswith(root.rstrip("/") + "/")


def _local(path: str) -> Location:
    absolute = os.path.abspath(path)
    shown = os.fsencode(absolute).decode("utf-8", "replace")
    return Location(scheme="file", target=absolute, shown=shown)


def _file_url_path(text: str, rest: str) -> str:
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        host = host.rpartition("@")[2]
        if host not in {"", "localhost"}:
            raise InvalidArgumentError(
                "This file: URL names another host.",
                reason=f"Only files of this machine can be opened, and the host is {host!r}.",
                remedy="Write file:///path with three slashes, or the plain path.",
            )
        rest = slash + path
    if not rest.startswith("/"):
        raise InvalidArgumentError(
            "This file: URL has no absolute path.",
            reason=f"{text!r} does not say which folder is meant.",
            remedy="Write file:///path with three slashes, or the plain path.",
        )
    from urllib.parse import unquote  # noqa: PLC0415  # plain paths do without it

    return unquote(rest)


def _trimmed(text: str) -> str:
    """Without slashes at the end; those of `memory://`, a store's root, stay."""
    start, separator, rest = text.rpartition("://")
    return f"{start}{separator}{rest.rstrip('/')}"


def _without_secrets(text: str) -> str:
    # of a chain only the last URL says where the table lies
    scheme, _, rest = text.rpartition("::")[2].partition("://")
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    host = rest.partition("/")[0]
    if "@" in rest and ":" in host and not host.rpartition(":")[2].isdigit():
        # a password may hold a slash: what counts is behind the last @
        rest = rest.rpartition("@")[2]
    elif "@" in host and scheme.lower() not in _CONTAINERS:
        rest = rest.partition("@")[2]
    return f"{scheme}://{rest}".rstrip("/") if rest.strip("/") else f"{scheme}://"
