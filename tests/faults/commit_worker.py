"""One of several processes that append to one table; run as a script.

    python -m tests.faults.commit_worker URI WRITER COMMITS [KEY=VALUE ...]

It waits for a line on standard input, so that all begin together, and prints the ids of
the transactions that it was told are committed, one a line.
"""

from __future__ import annotations

import sys
import time

from explorer.protocol.file_actions import AddFile
from explorer.storage.open import open_read_store, open_write_store
from explorer.table.table import Table
from explorer.transaction.commit import Committed, commit
from explorer.transaction.read_set import NOTHING
from explorer.transaction.read_version import read_version_of
from explorer.transaction.staged import Provenance, StagedCommit


def append(uri: str, writer: str, commits: int, options: dict[str, str]) -> None:
    """Append `commits` files, each by a commit upon the version that was there before it."""
    store = open_write_store(uri, options)
    table = Table(open_read_store(uri, options))
    print("ready", flush=True)  # noqa: T201  # the protocol with the test
    sys.stdin.readline()
    for number in range(commits):
        unique = f"{writer}-{number}"
        add = AddFile(path=f"{unique}.parquet", partition_values={}, size=1, modification_time=1)
        staged = StagedCommit(
            base=read_version_of(table.snapshot()),
            reads=NOTHING,
            provenance=Provenance(operation="WRITE", transaction_id=unique, engine_info="test"),
            actions=(add,),
        )
        done = commit(store, staged, clock=lambda: time.time_ns() // 1_000_000)
        if not isinstance(done, Committed):
            raise done.as_error()
        print(unique, flush=True)  # noqa: T201  # as above


if __name__ == "__main__":
    _, place, name, count, *given = sys.argv
    append(place, name, int(count), dict(item.split("=", 1) for item in given))
