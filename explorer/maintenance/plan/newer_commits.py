"""Whether what was committed after a plan was made touches it (guard: listed again).

Commits that the plan itself makes are told by their transaction ids, and count for nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson
import pyarrow.compute as pc

from explorer.errors import ConflictError, NotFoundError
from explorer.files.kept import is_kept
from explorer.files.store_paths import data_places, places_of
from explorer.log.actions.columns import string_column
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.log.commits.commit_info import parse_commit_info
from explorer.log.reconcile.tail import replay_commits
from explorer.maintenance.plan.file_list import without_action
from explorer.maintenance.plan.plan import Anchor, Plan
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.storage.ports import ReadStore
from explorer.table.table import Table


def anchor_of(store: ReadStore, version: int) -> Anchor:
    """What tells the log at `version` from another one."""
    try:
        data = store.read(render_commit_path(version))
    except NotFoundError:
        return Anchor(version=version, commit_sha256=None)
    return Anchor(version=version, commit_sha256=sha256(data).hexdigest())


@dataclass(slots=True, kw_only=True)
class LogWatch:
    """Looks at each commit after the plan's version, once.

    `seen` is the newest version that has been looked at.
    """

    plan: Plan
    store: ReadStore
    own: Collection[str] = ()
    seen: int = field(init=False)

    def __post_init__(self) -> None:
        self.seen = self.plan.anchor.version

    def check_listed(self, table: Table) -> None:
        """List the log and look at all that is newer; raises `ConflictError` where the plan
        is stale or the log is another one."""
        newest = table.latest_version()
        anchor = self.plan.anchor
        if newest < anchor.version or anchor_of(self.store, anchor.version) != anchor:
            raise stale(
                f"The log no longer holds version {anchor.version} as it was when the plan was "
                "made: the log was cleaned up, or the table was created again."
            )
        if table.metadata().id != self.plan.subject.id:
            raise stale("Another table is there now: its id is not the plan's.")
        while self.seen < newest:
            try:
                self._check_next(render_commit_path(self.seen + 1))
            except NotFoundError as error:
                gone = f"Version {self.seen + 1} disappeared before it was read."
                raise stale(gone) from error

    def check_ahead(self) -> None:
        """Look at commits that came since, without a listing."""
        while True:
            try:
                self._check_next(render_commit_path(self.seen + 1))
            except NotFoundError:
                return

    def _check_next(self, path: str) -> None:
        data = self.store.read(path)
        version = self.seen + 1
        if not self._is_own(data, version) and (why := self._touch(data, version)) is not None:
            raise stale(f"Version {version}, which came after it, {why}.")
        self.seen = version

    def _is_own(self, data: bytes, version: int) -> bool:
        return parse_commit_info(data, version).body.get("txnId") in self.own

    def _touch(self, data: bytes, version: int) -> str | None:
        """What a commit does to the ground of the plan, in words; None where nothing."""
        grounds = self.plan.rests_on
        if not grounds:
            return None
        tail = replay_commits(self.store, range(version, version + 1))
        if "protocol" in grounds and tail.small.protocol is not None:
            return "changes the protocol"
        if "metadata" in grounds and tail.small.metadata is not None:
            return "changes the schema or the properties"
        if "every file" in grounds and tail.decides_files:
            return "adds or removes files"
        if "files" in grounds and self._names_a_planned_file(data, version, tail):
            return "changes a file of the plan"
        return None

    def _names_a_planned_file(self, data: bytes, version: int, tail: Any) -> bool:
        root = self.store.uri
        named = places_of(tail.adds, root).joined(places_of(tail.removes, root))
        if changes := _change_files(data, version):
            named = named.joined(data_places(string_column(changes), root))
        # what is listed and left alone may be committed, as by a slow writer
        touched = without_action(self.plan.files, "leave").column("path")
        # as for whoever plans: by any of its names, and another place may be the same one
        return bool(len(touched) and pc.any(is_kept(touched, named)).as_py())


def _change_files(data: bytes, version: int) -> list[str]:
    if not may_name(data, "cdc"):
        return []
    name = render_commit_name(version)
    found: list[str] = []
    for number, line in lines_reversed(data):
        if may_name(line, "cdc"):
            body = parse_action(line, name, number).get("cdc")
            if isinstance(body, dict) and isinstance(path := body.get("path"), str):
                found.append(path)
    return found


def find_own_commit(store: ReadStore, after: int, transaction_id: str) -> int | None:
    """The version, later than `after`, of the commit with this transaction id; None where
    it was not made. Raises `CorruptLogError` for a commit that cannot be read."""
    version = after + 1
    needle = orjson.dumps(transaction_id)
    while True:
        try:
            data = store.read(render_commit_path(version))
        except NotFoundError:
            return None
        if needle in data and parse_commit_info(data, version).body.get("txnId") == transaction_id:
            return version
        version += 1


def stale(reason: str) -> ConflictError:
    """The error for a plan that no longer fits its table."""
    return ConflictError(
        "The plan is stale, and was not carried out further.",
        reason=reason,
        remedy="Plan again, review the new plan, and approve it.",
        kind="plan_stale",
    )
