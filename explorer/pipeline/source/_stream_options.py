"""The options of `spark.readStream`, by Delta's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from explorer.errors import InvalidArgumentError
from explorer.pipeline.source._write_options import flag_of, given_options, parse_option
from explorer.protocol.table_properties.byte_sizes import parse_byte_size

_DEFAULT_FILES: Final = 1000
"""Files of a batch where nothing else is asked for; the reference's own number."""

_NAMES: Final = (
    "startingVersion",
    "startingTimestamp",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "ignoreDeletes",
    "skipChangeCommits",
    "readChangeFeed",
    "profile",
)
_OTHERS: Final[Mapping[str, str]] = {
    "ignorechanges": "Use skipChangeCommits, or readChangeFeed to be told of the changes: "
    "ignoreChanges would send rows again that were only copied.",
    "failondataloss": "Leave it out: a stream never passes over commits that are gone.",
    "endingversion": "Leave it out: a stream goes on. Use spark.read for a range of versions.",
    "versionasof": "Use startingVersion, or spark.read for one version.",
    "timestampasof": "Use startingTimestamp, or spark.read for one version.",
}
"""By the name of an option of the reference that a stream does not have, what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What a stream reads. It begins with all rows of the newest version, unless a version or a
    time is given: then with the commits from there on. `max_files` and `max_bytes` are for each
    batch, None means without limit."""

    starting_version: int | Literal["latest"] | None = None
    starting_timestamp: str | None = None
    max_files: int | None = _DEFAULT_FILES
    max_bytes: int | None = None
    ignore_deletes: bool = False
    skip_change_commits: bool = False
    feed: bool = False


def stream_options(options: Mapping[str, str]) -> StreamOptions:
    """What is asked of the stream; raises `InvalidArgumentError` for what cannot be meant."""
    given = given_options(options)
    _check_names(given)
    files = parse_option(given.get("maxfilespertrigger"), "maxFilesPerTrigger", _positive)
    size = parse_option(given.get("maxbytespertrigger"), "maxBytesPerTrigger", parse_byte_size)
    found = StreamOptions(
        starting_version=parse_option(given.get("startingversion"), "startingVersion", _version),
        starting_timestamp=given.get("startingtimestamp"),
        max_files=_DEFAULT_FILES if files is None and size is None else files,
        max_bytes=size,
        ignore_deletes=flag_of(given, "ignoreDeletes"),
        skip_change_commits=flag_of(given, "skipChangeCommits"),
        feed=flag_of(given, "readChangeFeed"),
    )
    _check_together(found)
    return found


def _check_names(given: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in _NAMES}
    for name in sorted(given.keys() - known.keys() - {"path"}):
        near = get_close_matches(name, known, 1)
        guess = f"Did you mean {known[near[0]]}?" if near else "Leave it out."
        raise InvalidArgumentError(
            f"A stream has no option {name[:60]!r}.",
            reason=f"Its options are {', '.join(_NAMES)}.",
            remedy=_OTHERS.get(name, guess),
        )


def _check_together(options: StreamOptions) -> None:
    if options.starting_version is not None and options.starting_timestamp is not None:
        raise InvalidArgumentError(
            "startingVersion and startingTimestamp were both given.",
            reason="They may name different versions.",
            remedy="Give one of them.",
        )
    if options.feed and (options.ignore_deletes or options.skip_change_commits):
        raise InvalidArgumentError(
            "ignoreDeletes and skipChangeCommits do not go with readChangeFeed.",
            reason="The change feed has the deleted and the changed rows, each with its type.",
            remedy="Leave them out, and filter by _change_type.",
        )


def _positive(text: str) -> int:
    number = int(text)
    if not 0 < number < 2**63:
        raise ValueError("it must be at least 1")
    return number


def _version(text: str) -> int | Literal["latest"]:
    if text.lower() == "latest":
        return "latest"
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError("versions are whole numbers from 0 on")
    return number
