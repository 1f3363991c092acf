"""Which format the data files of a table have (spec: Format Specification).

"Presently, the only supported format is parquet". The log of a table that names
another one can be read all the same.
"""

from __future__ import annotations

from explorer.errors import Problem, UnsupportedError, brief
from explorer.protocol.actions import Metadata

_SPEC = "Format Specification"
_REASON = "Only parquet is specified, so that what a reader of Parquet finds would be a guess."


def validate_format(metadata: Metadata) -> list[Problem]:
    """A problem where the data files are not Parquet: rows are refused then."""
    if is_parquet(metadata):
        return []
    return [
        Problem(
            kind="unsupported_feature",
            problem=f"The data files of this table have the format "
            f"{brief(metadata.format_provider)}.",
            reason=_REASON,
            remedy="Files, history and log are shown; read rows with the engine that wrote them.",
            spec=_SPEC,
        )
    ]


def check_rows_readable(metadata: Metadata) -> None:
    """Raise `UnsupportedError` where the data files of a table are not Parquet."""
    if not is_parquet(metadata):
        raise UnsupportedError(
            f"The rows of this table cannot be read: its data files have the format "
            f"{brief(metadata.format_provider)}.",
            reason=_REASON,
            remedy="Read them with the engine that wrote the table; files, history and log "
            "are shown here.",
            spec=_SPEC,
        )


def is_parquet(metadata: Metadata) -> bool:
    """Whether the metadata names Parquet, in any case as Spark allows it."""
    return metadata.format_provider.lower() == "parquet"
