"""The options of `df.write` and `df.writeStream`, by Delta's names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final

import orjson

from explorer.errors import InvalidArgumentError
from explorer.protocol.table_properties.byte_sizes import parse_byte_size
from explorer.writing.statements.options import WriteOptions

PROFILE: Final = "DELTA_EXPLORER_PROFILE_"
"""What the name of a variable begins with whose value is the storage options of a profile, as a
JSON object. It stands in the environment of the process that commits, beside the driver."""

_KEPT_BY_SPARK: Final = frozenset({"path", "profile", "checkpointlocation", "querytype"})
_NAMES: Final = (
    "mergeSchema",
    "overwriteSchema",
    "replaceWhere",
    "partitionOverwriteMode",
    "partitionBy",
    "clusterBy",
    "txnAppId",
    "txnVersion",
    "userMetadata",
    "userName",
    "targetFileSize",
    "profile",
)
_PROPERTY: Final = "delta."


def storage_options(options: Mapping[str, str]) -> dict[str, Any] | None:
    """The storage options of the profile that is named; None where none is."""
    name = given_options(options).get("profile")
    if name is None:
        return None
    text = os.environ.get(f"{PROFILE}{name.upper()}")
    try:
        found = orjson.loads(text or "null")
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise InvalidArgumentError(
            f"There is no profile {name[:60]!r}.",
            reason=f"The environment of the driver's Python has no JSON object in {PROFILE}"
            f"{name.upper()[:60]}.",
            remedy="Set it where the driver runs: secrets never travel as options of Spark.",
        )
    return found


def place_of(options: Mapping[str, str]) -> str:
    """Where the table is, or is to be."""
    place = given_options(options).get("path")
    if not place:
        raise InvalidArgumentError(
            "The table is not named.",
            reason="Spark was given no path.",
            remedy="Write .load(path), .save(path) or .start(path).",
        )
    return place


def write_options(options: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    """What is asked of the write; raises `InvalidArgumentError` for options that do not exist."""
    given = given_options(options)
    properties = {
        name: value for name, value in options.items() if name.lower().startswith(_PROPERTY)
    }
    _check_names(set(given) - {name.lower() for name in properties})
    app, version = given.get("txnappid"), given.get("txnversion")
    if (app is None) != (version is None):
        raise InvalidArgumentError(
            "txnAppId and txnVersion belong together.",
            reason="One of them is missing.",
            remedy="Give both, or neither.",
        )
    return WriteOptions(
        mode="overwrite" if overwrite else "append",
        replace_where=given.get("replacewhere"),
        partition_overwrite=_overwrite(given.get("partitionoverwritemode", "static")),
        merge_schema=flag_of(given, "mergeSchema"),
        overwrite_schema=flag_of(given, "overwriteSchema"),
        partition_by=_columns(given.get("partitionby")),
        cluster_by=_columns(given.get("clusterby")),
        properties=properties,
        transaction=None if app is None else (app, parse_option(version, "txnVersion", int)),
        user_metadata=given.get("usermetadata"),
        user_name=given.get("username"),
        target_file_size=parse_option(
            given.get("targetfilesize"), "targetFileSize", parse_byte_size
        ),
    )


def given_options(options: Mapping[str, str]) -> dict[str, str]:
    """By names in lower case, as Spark hands them on."""
    return {name.lower(): value for name, value in options.items()}


def _check_names(names: set[str]) -> None:
    known = {name.lower(): name for name in _NAMES}
    for name in sorted(names - known.keys() - _KEPT_BY_SPARK):
        near = get_close_matches(name, known, 1)
        raise InvalidArgumentError(
            f"There is no option {name[:60]!r}.",
            reason=f"The options are {', '.join(_NAMES)}, and properties of new tables.",
            remedy=f"Did you mean {known[near[0]]}?" if near else "Leave it out.",
        )


def _overwrite(text: str) -> Any:
    return text.lower()


def flag_of(given: Mapping[str, str], name: str) -> bool:
    """An option that is true or false; it is false where it is not given."""
    text = given.get(name.lower(), "false").lower()
    if text not in {"true", "false"}:
        raise InvalidArgumentError(
            f"{name} is neither true nor false.",
            reason=f"It is {text[:60]!r}.",
            remedy=f'Write .option("{name}", "true").',
        )
    return text == "true"


def _columns(text: str | None) -> tuple[str, ...]:
    """`a,b` or, where names have commas, a JSON array."""
    if not text:
        return ()
    if text.startswith("["):
        found = parse_option(text, "partitionBy", orjson.loads)
        return tuple(str(name) for name in found or ())
    return tuple(name.strip() for name in text.split(","))


def parse_option(text: str | None, name: str, parse: Callable[[str], Any]) -> Any:
    """The value of an option; None where it is not given."""
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidArgumentError(
            f"The option {name} cannot be read.",
            reason=f"It is {text[:60]!r}.",
            remedy="Correct it, or leave it out.",
        ) from error
