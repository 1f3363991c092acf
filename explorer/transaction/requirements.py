"""Whether a commit may be made at all: every rule of every feature, asked in one place
(spec: Writer Version Requirements, Table Features)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.errors import Problem, UnsupportedError
from explorer.protocol.actions import Metadata, Protocol

if TYPE_CHECKING:
    from explorer.transaction.staged import StagedCommit

_SHOWN = 10


def validate_commit(staged: StagedCommit) -> list[Problem]:
    """Everything that forbids a commit upon its base, none where it may be made.

    Actions in batches are looked at as columns. What only the data files could tell is
    taken from `Promises`.
    """
    protocol, metadata = staged.protocol, staged.metadata
    if protocol is None or metadata is None:
        return [_first_commit(staged)]
    from explorer.transaction.rules.all_rules import ALL_RULES  # noqa: PLC0415  # as above
    from explorer.transaction.rules.change import Change, Described  # noqa: PLC0415  # brings Arrow

    base = staged.base
    before = None
    if base.protocol is not None and base.metadata is not None:
        before = Described(protocol=base.protocol, metadata=base.metadata)
    after = Described(protocol=protocol, metadata=metadata)
    change = Change(staged=staged, before=before, after=after)
    return [found for rule in ALL_RULES for found in rule(change)]


def check_commit(staged: StagedCommit) -> None:
    """Raise `UnsupportedError`, with all of them, where a rule forbids the commit."""
    problems = validate_commit(staged)
    if not problems:
        return
    shown, more = problems[:_SHOWN], len(problems) - _SHOWN
    texts = [item.problem for item in shown] + ([f"And {more} more."] if more > 0 else [])
    raise UnsupportedError(
        f"The commit cannot be made. {' '.join(texts)}",
        reason=" ".join(dict.fromkeys(item.reason for item in shown)),
        remedy=" ".join(dict.fromkeys(item.remedy for item in shown)),
        kind=problems[0].kind,
        spec=problems[0].spec,
    )


def _first_commit(staged: StagedCommit) -> Problem:
    missing = "metaData" if staged.of(Protocol) and not staged.of(Metadata) else "protocol"
    return Problem(
        kind="protocol_missing" if missing == "protocol" else "metadata_missing",
        problem=f"The first commit of a table has no {missing} action.",
        reason="Without both, it is unknown what the table is and who may read it.",
        remedy="Stage a protocol and a metaData action.",
        spec="Change Metadata",
    )
