"""The records of all displayed facts by name, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from explorer.inspect.answer import Answer

# Name -> the module that has the record, and what it is called there. The name is that of the verb
# and of the address; what a verb shows only with an option has a name of its own.
_HOMES: Final[dict[str, tuple[str, str]]] = {
    "actions": ("explorer.inspect.commits.action_lines", "ACTIONS"),
    "advice": ("explorer.inspect.advice.advice", "ADVICE"),
    "change_totals": ("explorer.inspect.rows.feed_counts", "CHANGE_TOTALS"),
    "changes": ("explorer.answers.changed_rows", "CHANGES"),
    "columns_by_files": ("explorer.inspect.columns.presence", "COLUMNS_BY_FILES"),
    "conflicts": ("explorer.inspect.conflicts.conflict_record", "CONFLICTS"),
    "diff": ("explorer.answers._version_diff", "DIFF"),
    "dv": ("explorer.inspect.files.row_deletions", "DELETION_VECTORS"),
    "engines": ("explorer.inspect.engine_support.matrix", "ENGINES"),
    "features": ("explorer.inspect.table_features.feature_history", "FEATURES"),
    "files": ("explorer.inspect.files.file_pages", "FILES"),
    "foreign": ("explorer.inspect.files.folder_files", "FOREIGN_FILES"),
    "health": ("explorer.inspect.health.table_health", "HEALTH"),
    "hidden_rows": ("explorer.inspect.files.row_deletions", "HIDDEN_ROWS"),
    "history": ("explorer.inspect.commits.commit_history", "HISTORY"),
    "inspect": ("explorer.inspect.description", "DESCRIPTION"),
    "layout": ("explorer.inspect.layout.overview", "LAYOUT"),
    "log": ("explorer.inspect.files.log_folder", "LOG"),
    "preview": ("explorer.answers.previewed_rows", "PREVIEW"),
    "reach": ("explorer.inspect.reach.reachability", "REACH"),
    "row_blame": ("explorer.inspect.rows.row_blame", "ROW_BLAME"),
    "row_differences": ("explorer.inspect.rows.row_differences", "ROW_DIFFERENCES"),
    "rows": ("explorer.inspect.rows.row_search", "ROWS"),
    "schema": ("explorer.inspect.columns.fields", "SCHEMA"),
    "schema_history": ("explorer.inspect.columns.schema_history", "SCHEMA_HISTORY"),
    "skip": ("explorer.answers._skipped_files", "SKIP"),
    "stats": ("explorer.inspect.files.statistics", "STATISTICS"),
    "why": ("explorer.inspect.files.file_reasons", "WHY"),
}


class _Registry(Mapping[str, Answer[Any]]):
    """Names are there at once, a record when it is first looked up."""

    def __getitem__(self, name: str) -> Answer[Any]:
        module, constant = _HOMES[name]
        found: Answer[Any] = getattr(import_module(module), constant)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


ANSWERS: Final[Mapping[str, Answer[Any]]] = _Registry()
