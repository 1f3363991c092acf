"""What the rules of writers say of protocol and metadata before any row is written
(spec: Writer Version Requirements)."""

from __future__ import annotations

import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import ADD_COLUMNS, empty_table, schema_of
from explorer.log.reconcile.key_columns import KEY_COLUMNS
from explorer.protocol.commit_json import Action
from explorer.transaction.read_set import NOTHING, ReadSet
from explorer.transaction.read_version import NO_TABLE, ReadVersion
from explorer.transaction.requirements import validate_commit
from explorer.transaction.staged import Promises, Provenance, StagedCommit


class _EveryFileGone:
    """The live files of a table whose rows are all replaced: none stays."""

    def at_paths(self, paths: pa.ChunkedArray) -> pa.Table:  # noqa: ARG002  # there are none
        """As `LiveFiles` has it."""
        return empty_table(schema_of(ADD_COLUMNS))

    def without(self, keys: pa.ChunkedArray) -> pa.Table:  # noqa: ARG002  # there are none
        """As `LiveFiles` has it."""
        return empty_table(schema_of({name: ADD_COLUMNS[name] for name in KEY_COLUMNS}))


_SHOWN = 10
_NOBODY = Provenance(operation="", transaction_id="", engine_info="")


def check_first(actions: tuple[Action, ...], promises: Promises) -> None:
    """Raise `InvalidArgumentError`, with every reason, where no table may begin with these."""
    staged = StagedCommit(
        base=NO_TABLE, reads=NOTHING, provenance=_NOBODY, actions=actions, promises=promises
    )
    _check(staged, "The table cannot be created.")


def check_later(base: ReadVersion, actions: tuple[Action, ...], promises: Promises) -> None:
    """Raise `InvalidArgumentError`, with every reason, where no commit upon `base` may write
    these."""
    goes = promises.removes_every_live_file
    staged = StagedCommit(
        base=base,
        reads=ReadSet(whole_table=goes),
        provenance=_NOBODY,
        actions=actions,
        promises=promises,
        live=_EveryFileGone() if goes else None,
    )
    _check(staged, "The table cannot take these columns.")


def _check(staged: StagedCommit, problem: str) -> None:
    found = validate_commit(staged)
    if not found:
        return
    shown, more = found[:_SHOWN], len(found) - _SHOWN
    texts = [problem, *(item.problem for item in shown)]
    if more > 0:
        texts.append(f"And {more} more.")
    raise InvalidArgumentError(
        " ".join(texts),
        reason=" ".join(dict.fromkeys(item.reason for item in shown)),
        remedy=" ".join(dict.fromkeys(item.remedy for item in shown)),
        spec=found[0].spec,
    )
