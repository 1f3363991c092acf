"""What a caller asks of a write, and what the caller gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, get_args

from explorer.errors import InvalidArgumentError, Problem

Mode: TypeAlias = Literal["append", "overwrite", "error", "ignore"]
PartitionOverwrite: TypeAlias = Literal["static", "dynamic"]

_LEAST_FILE: Final = 2**16
_BY_NAME: Final[dict[str, Mode]] = {
    "append": "append",
    "overwrite": "overwrite",
    "error": "error",
    "errorifexists": "error",
    "ignore": "ignore",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How rows are written; the names are Delta's. `transaction` is an application id and its
    version (spec: Transaction Identifiers); `target_file_size` is in bytes. What describes a
    table (`partition_by`, `cluster_by`, `properties`) counts where one is created, or where an
    overwrite gives it another schema."""

    mode: Mode = "append"
    replace_where: str | None = None
    partition_overwrite: PartitionOverwrite = "static"
    merge_schema: bool = False
    overwrite_schema: bool = False
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    transaction: tuple[str, int] | None = None
    user_metadata: str | None = None
    user_name: str | None = None
    target_file_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What came of a statement. `version` is None where nothing had to be committed: the table
    was there (`ignore`), or has this transaction already (`is_repeated`). `metrics` have the names
    of the reference. `problems` are what a person ought to hear of a write that is committed."""

    version: int | None
    operation: str
    metrics: Mapping[str, int] = field(default_factory=dict)
    is_repeated: bool = False
    problems: tuple[Problem, ...] = ()


def check_options(options: WriteOptions) -> WriteOptions:
    """The options, where they can be meant together; raises `InvalidArgumentError`."""
    mode = _BY_NAME.get(str(options.mode).lower())
    if mode is None:
        names = ", ".join(get_args(Mode))
        raise _wrong(f"There is no mode {str(options.mode)[:60]!r}.", f"Use one of {names}.")
    if options.partition_overwrite not in get_args(PartitionOverwrite):
        raise _wrong(
            f"Partitions cannot be overwritten {str(options.partition_overwrite)[:60]!r}.",
            "Use static or dynamic.",
        )
    overwrites = mode == "overwrite"
    for name in ("replace_where", "overwrite_schema"):
        if getattr(options, name) and not overwrites:
            raise _wrong(f"{name} needs the mode overwrite.", 'Give mode="overwrite", or leave it.')
    is_dynamic = options.partition_overwrite == "dynamic" and overwrites
    if is_dynamic and (options.replace_where or options.overwrite_schema):
        raise _wrong(
            "Dynamic partition overwrite cannot be combined with replace_where or "
            "overwrite_schema.",
            "Which partitions go follows from the rows alone.",
        )
    if options.overwrite_schema and options.replace_where:
        raise _wrong(
            "overwrite_schema cannot be combined with replace_where.",
            "Rows of the old schema would stay.",
        )
    if options.partition_by and options.cluster_by:
        raise _wrong("A table is partitioned or clustered.", "Give partition_by or cluster_by.")
    check_transaction(options.transaction)
    check_file_size(options.target_file_size)
    return replace(options, mode=mode)


def check_file_size(size: int | None) -> None:
    """Raise `InvalidArgumentError` for files that would be too small to be of use."""
    if size is not None and size < _LEAST_FILE:
        raise _wrong(
            f"Files of {size} bytes would be too small.", f"Give at least {_LEAST_FILE:,} bytes."
        )


def check_transaction(transaction: tuple[str, int] | None) -> None:
    """Raise `InvalidArgumentError` for what is no application id and version."""
    if transaction is None:
        return
    name, version = transaction
    if not name or type(version) is not int or not -(2**63) <= version < 2**63:
        raise _wrong(
            "The transaction is not an application id and a version.",
            'Give for example transaction=("nightly load", 42).',
        )


def _wrong(problem: str, remedy: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        problem, reason="The options of a write have to fit together.", remedy=remedy
    )
