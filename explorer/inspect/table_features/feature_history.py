"""Table features with the commits that brought each and made it active (spec: Table Features,
Protocol Evolution)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from explorer.inspect.answer import VERSION, Answer
from explorer.inspect.frame_rows import plain_rows
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.table_features._feature_log import FeatureChange, feature_changes
from explorer.inspect.table_features.feature_states import (
    FeatureState,
    facts_of_table,
    feature_states,
)
from explorer.log.actions.columns import bool_column, int64_column, string_column
from explorer.log.commits.commit_info import text_in
from explorer.log.folder.segment import missing_versions
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.registry import find_feature, supported_features
from explorer.protocol.filenames import render_commit_name
from explorer.table.table import Table

COLUMNS: dict[str, Column] = {
    "name": (string_column, pa.string()),
    "kind": (string_column, pa.string()),
    "known": (bool_column, pa.bool_()),
    "supported": (bool_column, pa.bool_()),
    "active": (bool_column, pa.bool_()),
    "note": (string_column, pa.string()),
    **{
        f"{state}_{fact}": column
        for state in ("supported", "active")
        for fact, column in {
            "since": (int64_column, pa.int64()),
            "since_exact": (bool_column, pa.bool_()),
            "by_operation": (string_column, pa.string()),
            "by_user": (string_column, pa.string()),
            "by_engine": (string_column, pa.string()),
            "log_file": (string_column, pa.string()),
            "line": (int64_column, pa.int64()),
        }.items()
    },
    "description": (string_column, pa.string()),
    "spec": (string_column, pa.string()),
}

_KINDS = {"reader-writer": "reader and writer", "writer": "writer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a feature came from; not `exact` where the log before it is gone."""

    change: FeatureChange
    line: int | None
    exact: bool


def features(
    table: Table,
    version: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per feature that the table supports, then one per other known feature.

    - `kind`: reader and writer, writer, or unknown; `known` to this release,
      `supported` by the protocol, `active` by metadata and domains: null where that is unknown;
      `note`: what keeps a feature that is asked for or supported from being active
    - `supported_since`: the commit that added it, the last one if it was removed between, with
      its operation, user and engine (`supported_by_…`), its `supported_log_file` and
      `supported_line`. Where `supported_since_exact` is false the feature is older than that
      version and the log before it is gone; null where nothing is left that says
    - `active_since` and its kin: these facts of the commit since which it is active, null
      for one that is not
    - `description` and the section of the `spec`

    A table whose snapshot is refused answers too.
    """
    listing = table.listing()
    facts = facts_of_table(table, version)
    watch = Watch(progress=progress, cancel=cancel)
    changes = feature_changes(table, listing, version, watch)
    supported = _origins(changes, listing.commits, _supported_after)
    active = _origins(changes, listing.commits, _active_after)
    return build_frame(
        COLUMNS,
        [
            _row(name, state, supported.get(name), active.get(name))
            for name, state in feature_states(facts).items()
        ],
    )


_After = Callable[[FeatureChange], Mapping[str, int | None] | None]
"""The features that have something after a change, each with the line that says so; None where
the change says nothing of them."""


def _supported_after(change: FeatureChange) -> dict[str, int | None] | None:
    if change.protocol is None:
        return None
    return dict.fromkeys(supported_features(change.protocol), change.lines.get("protocol"))


def _active_after(change: FeatureChange) -> dict[str, int | None] | None:
    if change.active is None:
        return None
    return {name: change.active_line(name) for name in change.active}


def _origins(
    changes: Sequence[FeatureChange], commits: tuple[int, ...], after: _After
) -> dict[str, Origin]:
    """Where each feature of the last of `changes` came from.

    Both ascend. An action repeats what was there before it, so it tells exactly what is new
    only where no commit is missing since the one before.
    """
    origins: dict[str, Origin] = {}
    known_until = -1
    for change in changes:
        found = after(change)
        if found is None:
            continue
        exact = not missing_versions(commits, known_until + 1, change.version)
        origins = {
            name: origins.get(name) or Origin(change=change, line=line, exact=exact)
            for name, line in found.items()
        }
        known_until = change.version
    return origins


def _row(
    name: str, state: FeatureState, supported: Origin | None, active: Origin | None
) -> tuple[Any, ...]:
    entry = find_feature(name)
    return (
        name,
        "unknown" if entry is None else _KINDS[entry.kind],
        entry is not None,
        state.supported,
        state.active,
        state.note,
        *_told(supported if state.supported else None),
        *_told(active if state.active else None),
        None if entry is None else entry.description,
        None if entry is None else entry.spec,
    )


def _told(origin: Origin | None) -> tuple[Any, ...]:
    """Since when, whether exactly, by whom, and where that stands."""
    if origin is None:
        return (None,) * 7
    change = origin.change
    info = {} if change.info is None else change.info
    return (
        change.version,
        origin.exact,
        *(text_in(info, key) for key in ("operation", "userName", "engineInfo")),
        None if origin.line is None else render_commit_name(change.version),
        origin.line,
    )


FEATURES: Final = Answer(
    name="features",
    parameters=(VERSION,),
    ask=lambda table, progress, version=None: features(table, version, progress=progress),
    documents=plain_rows,
    is_list=True,
)
