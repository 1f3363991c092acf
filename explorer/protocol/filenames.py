"""The one grammar of log file names (spec: File Types).

Names look like this, `N` being a version in twenty digits::

    N.json                          commit
    N.crc                           version checksum
    N.checkpoint.parquet            checkpoint, classic name (its content may be V2)
    N.checkpoint.O.P.parquet        part O of P of a multi-part checkpoint (ten digits)
    N.checkpoint.UUID.json|parquet  V2 checkpoint
    X.Y.compacted.json              log compaction of versions X to Y
    _last_checkpoint                hint to the newest checkpoint

Everything else in the log folder is foreign: listed, never interpreted.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from explorer.records import record

if TYPE_CHECKING:
    from uuid import UUID  # the type alone: a small table opens without it

LOG_FOLDER = "_delta_log"
SIDECAR_FOLDER = "_delta_log/_sidecars"
STAGED_COMMIT_FOLDER = "_delta_log/_staged_commits"
LAST_CHECKPOINT = "_last_checkpoint"
TEMPORARY_PREFIX = ".tmp-"
"""How the names of files begin that a writer here has not finished; readers ignore them."""
MAX_VERSION = 2**63 - 1
_MAX_DIGITS = f"{MAX_VERSION:020}"


class LogFileKind(enum.Enum):
    """What a name in the log folder stands for."""

    COMMIT = "commit"
    CHECKSUM = "checksum"
    CHECKPOINT_CLASSIC = "checkpoint"
    CHECKPOINT_PART = "checkpoint part"
    CHECKPOINT_V2 = "v2 checkpoint"
    COMPACTION = "compaction"
    LAST_CHECKPOINT = "last_checkpoint"


@record
class LogFileName:
    """A parsed name.

    `version` is the only, or for a compaction the first, version; None for
    `_last_checkpoint`. `last_version` is set for compactions, `part` and
    `num_parts` (1-based) for parts of a checkpoint, `unique` for V2 checkpoints.
    """

    name: str
    kind: LogFileKind
    version: int | None = None
    last_version: int | None = None
    part: int | None = None
    num_parts: int | None = None
    unique: str | None = None


_NAME = re.compile(
    r"(?P<version>[0-9]{20})\.(?:"
    r"(?P<commit>json)|(?P<checksum>crc)|(?P<classic>checkpoint\.parquet)"
    r"|checkpoint\.(?P<part>[0-9]{10})\.(?P<parts>[0-9]{10})\.parquet"
    r"|checkpoint\.(?P<unique>[0-9a-fA-F-]{36})\.(?:json|parquet)"
    r"|(?P<last>[0-9]{20})\.compacted\.json)",
    re.ASCII,
)


TEMPORARY_NAME = r"\.tmp-(?:trial-)?[0-9a-f]{32}"
"""The whole of such a name, as a regular expression."""

_TEMPORARY = re.compile(TEMPORARY_NAME, re.ASCII)


def is_temporary(name: str) -> bool:
    """Whether a writer of this package has given a file this name before it was finished."""
    return _TEMPORARY.fullmatch(name) is not None


_UUID = "-".join(rf"[0-9a-f]{{{digits}}}" for digits in (8, 4, 4, 4, 12))

STAGING_NAME = rf"rows-{_UUID}"
"""The name of a folder below a table's root in which Spark makes files for a statement here, as a
regular expression; see `staging_folder`."""


def staging_folder(statement: UUID | str) -> str:
    """The folder in which Spark makes the files of a statement until they are whole."""
    return f"rows-{statement}"


# what lies there once for each version
_Suffix = Literal[".json", ".crc"]
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"000000000")

_SIMPLE = {
    "commit": LogFileKind.COMMIT,
    "checksum": LogFileKind.CHECKSUM,
    "classic": LogFileKind.CHECKPOINT_CLASSIC,
    "unique": LogFileKind.CHECKPOINT_V2,
}


def parse_log_file_name(name: str) -> LogFileName | None:
    """What `name` stands for, or None where it is foreign to the log."""
    if name == LAST_CHECKPOINT:
        return LogFileName(name=name, kind=LogFileKind.LAST_CHECKPOINT)
    match = _NAME.fullmatch(name)
    if match is None or (version := int(match["version"])) > MAX_VERSION:
        return None
    if match["last"]:
        last = int(match["last"])
        kind = LogFileKind.COMPACTION
        fits = version <= last <= MAX_VERSION
        return (
            LogFileName(name=name, kind=kind, version=version, last_version=last) if fits else None
        )
    if match["part"]:
        part, parts = int(match["part"]), int(match["parts"])
        kind = LogFileKind.CHECKPOINT_PART
        fits = 1 <= part <= parts
        return (
            LogFileName(name=name, kind=kind, version=version, part=part, num_parts=parts)
            if fits
            else None
        )
    kind = next(kind for group, kind in _SIMPLE.items() if match[group])
    return LogFileName(name=name, kind=kind, version=version, unique=match["unique"])


_OTHER_WIDTH = re.compile(r"[0-9]+\.(?:[0-9]+\.compacted\.json|json|crc|checkpoint\..+)", re.ASCII)


def meant_name(name: str) -> LogFileName | None:
    """What `12.json` would be if its version had twenty digits; None for a name of the log
    and for one that would be none with them.

    The specification asks for twenty digits. delta-spark takes any number of them
    (`FileNames.scala`), so that such a file is foreign to some readers and a commit to others.
    """
    if parse_log_file_name(name) is not None or not _OTHER_WIDTH.fullmatch(name):
        return None
    first, _, rest = name.partition(".")
    if rest.endswith(".compacted.json"):
        last, _, rest = rest.partition(".")
        rest = f"{last.lstrip('0'):0>20}.{rest}"
    return parse_log_file_name(f"{first.lstrip('0'):0>20}.{rest}")


def parse_commit_version(name: str) -> int | None:
    """The version of a commit file's name, else None.

    The same rule as `parse_log_file_name`, without an object per file: a log
    may hold a hundred thousand commits.
    """
    return int(name[:20]) if _is_version_with(".json", name) else None


def split_versions(names: Sequence[str], suffix: _Suffix) -> tuple[tuple[int, ...], list[str]]:
    """The versions, ascending, of the names that are a version and `suffix`; and the
    other names. They may be in any order, but none may stand twice.

    The same rule as `parse_log_file_name` once more, for a whole folder in bulk.
    """
    found, others = names, list[str]()
    if not _look_like_versions(suffix, names):  # as those of a log without checkpoints do
        length = 20 + len(suffix)
        found = [name for name in names if len(name) == length]
        others = [name for name in names if len(name) != length]
        if not _look_like_versions(suffix, found):
            others += [name for name in found if not _is_version_with(suffix, name)]
            found = [name for name in found if _is_version_with(suffix, name)]
    if not found:
        return (), others
    oldest, newest = min(found)[:20], max(found)[:20]
    if newest > _MAX_DIGITS:
        others += [name for name in found if name[:20] > _MAX_DIGITS]
        versions, _ = split_versions([name for name in found if name[:20] <= _MAX_DIGITS], suffix)
        return versions, others
    first, last = int(oldest), int(newest)
    if last - first + 1 == len(found):  # nearly always: a log without a gap need not be sorted
        return tuple(range(first, last + 1)), others
    return tuple(sorted(int(name[:20]) for name in found)), others


def _is_version_with(suffix: _Suffix, name: str) -> bool:
    digits = name[:20]
    return name[20:] == suffix and digits.isascii() and digits.isdigit() and digits <= _MAX_DIGITS


def _look_like_versions(suffix: _Suffix, names: Sequence[str]) -> bool:
    """`_is_version_with` of them all, but for the greatest number."""
    # a newline behind each name, and no other one: so each has this length
    text = "\n".join([*names, ""])
    wanted = b"0" * 20 + suffix.encode() + b"\n"
    if len(text) != len(wanted) * len(names):
        return False
    return text.encode(errors="replace").translate(_DIGITS_AS_ZERO) == wanted * len(names)


def render_commit_name(version: int) -> str:
    """`00000000000000000012.json` for version 12."""
    return str(version).zfill(20) + ".json"


def render_commit_names(versions: Iterable[int]) -> list[str]:
    """The names of many, which are asked for by the hundred thousand."""
    return [str(version).zfill(20) + ".json" for version in versions]


def render_commit_path(version: int) -> str:
    """The path of a commit below the table's root."""
    return f"{LOG_FOLDER}/{str(version).zfill(20)}.json"


def render_checksum_name(version: int) -> str:
    """`00000000000000000012.crc` for version 12."""
    return f"{version:020}.crc"


def render_classic_checkpoint_name(version: int) -> str:
    """`00000000000000000012.checkpoint.parquet` for version 12."""
    return f"{version:020}.checkpoint.parquet"


def render_v2_checkpoint_name(
    version: int, unique: UUID, suffix: Literal["json", "parquet"]
) -> str:
    """`00000000000000000012.checkpoint.80a083e8-….json` for version 12."""
    return f"{version:020}.checkpoint.{unique}.{suffix}"


def render_compaction_name(first: int, last: int) -> str:
    """`00000000000000000004.00000000000000000006.compacted.json` for versions 4 to 6."""
    return f"{first:020}.{last:020}.compacted.json"
