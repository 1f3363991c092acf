"""The hint to the newest checkpoint (spec: Last Checkpoint File Schema, JSON checksum).

It may repeat a V2 checkpoint, "so that readers don't have to read the V2 Checkpoint"
(spec: V2 Spec); the reference does so in the field `v2Checkpoint`.

The checksum is the MD5 of a canonical form of the JSON: every leaf with its
path, the pairs sorted by the bytes of their paths. For example
`{"b": [1, "x y"], "a": null, "checksum": "..."}` becomes
`"a"=null,"b"+0=1,"b"+1="x%20y"`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote

import orjson

from explorer.errors import CorruptLogError
from explorer.protocol.hooked_json import DuplicateNameError, refuse_constant, without_duplicates
from explorer.records import record

_SPEC = "Last Checkpoint File Schema"
_PLACE = "_delta_log/_last_checkpoint"


@record
class EmbeddedCheckpoint:
    """What a hint repeats of a V2 checkpoint.

    `path` is the name of its file, `size_in_bytes` and `modification_time` (milliseconds
    since the epoch) are those of that file. `non_file_actions` are lines as in a commit,
    `sidecar_files` bodies of `sidecar` actions; either is None where it was left out,
    as writers do with long ones.
    """

    path: str
    size_in_bytes: int | None = None
    modification_time: int | None = None
    non_file_actions: tuple[Mapping[str, Any], ...] | None = None
    sidecar_files: tuple[Mapping[str, Any], ...] | None = None


@record
class LastCheckpoint:
    """What `_last_checkpoint` says; a hint that may be stale.

    `size` counts actions, those in sidecars too; `parts` is set for multi-part
    checkpoints; `checkpoint_schema` is a schema as the JSON object of the table's own;
    `checksum` is None where the file has none, else it was found to be right.
    """

    version: int
    size: int
    parts: int | None = None
    size_in_bytes: int | None = None
    num_of_add_files: int | None = None
    tags: Mapping[str, str] | None = None
    checkpoint_schema: Mapping[str, Any] | None = None
    checksum: str | None = None
    embedded: EmbeddedCheckpoint | None = None


class _Number(str):
    """A number of the JSON in its own digits, which the canonical form keeps."""

    __slots__ = ()


def render_last_checkpoint(last: LastCheckpoint) -> bytes:
    """The bytes of the file, with a new checksum."""
    body: dict[str, Any] = {"version": last.version, "size": last.size}
    optional = {
        "parts": last.parts,
        "sizeInBytes": last.size_in_bytes,
        "numOfAddFiles": last.num_of_add_files,
        "checkpointSchema": last.checkpoint_schema,
        "tags": None if last.tags is None else dict(last.tags),
        "v2Checkpoint": None if last.embedded is None else _render_embedded(last.embedded),
    }
    body |= {key: value for key, value in optional.items() if value is not None}
    body["checksum"] = build_hint_checksum(orjson.dumps(body))
    return orjson.dumps(body)


def _render_embedded(embedded: EmbeddedCheckpoint) -> dict[str, Any]:
    body: dict[str, Any] = {"path": embedded.path}
    optional = {
        "sizeInBytes": embedded.size_in_bytes,
        "modificationTime": embedded.modification_time,
        "nonFileActions": embedded.non_file_actions,
        "sidecarFiles": embedded.sidecar_files,
    }
    return body | {key: value for key, value in optional.items() if value is not None}


def parse_last_checkpoint(data: bytes) -> LastCheckpoint:
    """The hint; raises `CorruptLogError` where it is not a JSON object, has duplicate
    keys, values of a wrong type, or a checksum that does not fit."""
    body = _decode(data)
    stated = body.get("checksum")
    if stated is not None and not (isinstance(stated, str) and stated == _checksum(body)):
        _refuse("Its checksum does not fit its content.")
    tags = body.get("tags")
    if tags is not None and not _is_string_map(tags):
        _refuse("`tags` must map strings to strings.")
    version, size = _integer(body, "version"), _integer(body, "size")
    if version is None or size is None:
        _refuse("`version` and `size` are required.")
    return LastCheckpoint(
        version=version,
        size=size,
        parts=_integer(body, "parts"),
        size_in_bytes=_integer(body, "sizeInBytes"),
        num_of_add_files=_integer(body, "numOfAddFiles"),
        tags=tags,
        checkpoint_schema=_schema(data, body),
        checksum=stated,
        embedded=_embedded(data, body),
    )


def build_canonical_form(data: bytes) -> str:
    """The canonical form of a JSON object; raises `CorruptLogError` where it is none."""
    return ",".join(f"{path}={value}" for path, value in _canonical_pairs(_decode(data)))


def build_hint_checksum(data: bytes) -> str:
    """The checksum of a JSON object, whatever `checksum` it already holds."""
    return _checksum(_decode(data))


def _schema(data: bytes, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What is told beside the place of a checkpoint: one that is not an object is ignored."""
    if not isinstance(body.get("checkpointSchema"), dict):
        return None
    try:
        found: Mapping[str, Any] = orjson.loads(data)["checkpointSchema"]
    except orjson.JSONDecodeError:  # half of a character
        return None
    return found


def _embedded(data: bytes, body: Mapping[str, Any]) -> EmbeddedCheckpoint | None:
    if body.get("v2Checkpoint") is None:
        return None
    try:
        found = orjson.loads(data)["v2Checkpoint"]  # with numbers that are numbers
    except orjson.JSONDecodeError as error:
        _refuse("It holds half of a character.", error)
    if not isinstance(found, dict) or not isinstance(path := found.get("path"), str):
        _refuse("`v2Checkpoint` must be an object with a path.")
    return EmbeddedCheckpoint(
        path=path,
        size_in_bytes=_whole(found.get("sizeInBytes")),
        modification_time=_whole(found.get("modificationTime")),
        non_file_actions=_objects(found, "nonFileActions"),
        sidecar_files=_objects(found, "sidecarFiles"),
    )


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**63 else None


def _objects(body: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], ...] | None:
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        _refuse(f"`v2Checkpoint.{key}` must be an array of objects.")
    return tuple(value)


def _checksum(body: Mapping[str, Any]) -> str:
    import hashlib  # noqa: PLC0415  # brings OpenSSL, 2 ms; many hints have no checksum

    form = ",".join(f"{path}={value}" for path, value in _canonical_pairs(body))
    return hashlib.md5(form.encode(), usedforsecurity=False).hexdigest()


def _canonical_pairs(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    without = {key: value for key, value in body.items() if key != "checksum"}
    # what canonical paths are made of is ASCII: the order of code points is that of bytes
    return sorted(_leaves(without))


def _leaves(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    pending: list[tuple[str, Any]] = [(_quote(key), value) for key, value in body.items()]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending.extend((f"{path}+{_quote(key)}", child) for key, child in value.items())
        elif isinstance(value, list):
            pending.extend((f"{path}+{number}", child) for number, child in enumerate(value))
        else:
            yield path, _canonical_scalar(value)


def _canonical_scalar(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return _quote(value)
    return {None: "null", True: "true", False: "false"}[value]


def _quote(text: str) -> str:
    if text.isascii() and text.isalnum():  # nearly all, and there may be thousands
        return f'"{text}"'
    # half a surrogate pair is valid JSON, and no valid UTF-8
    return f'"{quote(text, safe="-._~", errors="surrogatepass")}"'


def _decode(data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(
            data,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=refuse_constant,
            object_pairs_hook=without_duplicates,
        )
    except DuplicateNameError:
        _refuse("A key occurs twice in it.")
    except (ValueError, RecursionError) as error:
        _refuse("It is not JSON.", error)
    if not isinstance(body, dict):
        _refuse("It is not a JSON object.")
    return body


def _integer(body: Mapping[str, Any], key: str) -> int | None:
    value = body.get(key)
    if value is None:
        return None
    if not (isinstance(value, _Number) and len(value) < 20 and value.isdigit()):
        _refuse(f"`{key}` must be a whole number, and not below zero.")
    return int(value)


def _is_string_map(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(item, str) and not isinstance(item, _Number) for item in value.values()
    )


def _refuse(reason: str, cause: Exception | None = None) -> NoReturn:
    raise CorruptLogError(
        f"The hint {_PLACE} is not usable.",
        reason=reason,
        remedy="Nothing is lost: the log is listed instead. The next checkpoint replaces it.",
        spec=_SPEC,
    ) from cause
