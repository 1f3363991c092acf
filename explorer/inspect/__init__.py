"""Answers for people: one function per displayed fact, Arrow tables unless said.

Each answer carries its evidence: the log file, and the line where one is meant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.inspect.action_lines import commit_actions
    from explorer.inspect.column_presence import (
        ColumnPresence,
        columns_by_files,
        columns_by_statistics,
    )
    from explorer.inspect.commit_history import history
    from explorer.inspect.commit_record import commit_info
    from explorer.inspect.commit_timeline import timeline
    from explorer.inspect.conflict_check import ConflictCheck, check_conflicts
    from explorer.inspect.description import describe
    from explorer.inspect.engine_matrix import engines, engines_sentence
    from explorer.inspect.feature_history import features
    from explorer.inspect.feed_counts import ChangeTotals, change_totals
    from explorer.inspect.file_fates import FileReason
    from explorer.inspect.file_pages import FilesPage, files_page
    from explorer.inspect.file_reasons import why_here
    from explorer.inspect.folder_files import Folder, foreign_files
    from explorer.inspect.layout_sizes import Layout, file_layout
    from explorer.inspect.log_folder import log_files
    from explorer.inspect.lost_engines import Losses, engine_losses, losses_sentence
    from explorer.inspect.optimize_history import optimize_effects
    from explorer.inspect.overlap import clustering_depth
    from explorer.inspect.reachability import Reachability, reach_by_files, reach_by_log
    from explorer.inspect.row_deletions import HiddenRows, deletion_vectors, hidden_rows
    from explorer.inspect.row_search import RowHistory, search_rows
    from explorer.inspect.schema_fields import schema
    from explorer.inspect.state import domains, transactions
    from explorer.inspect.statistics import StatisticsReport, column_statistics
    from explorer.inspect.table_health import Health, files_health, log_health
    from explorer.inspect.table_rules import writer_rules

# Name -> the module that defines it, loaded when the name is asked for. No module
# is called like what it defines: importing it would put it in the place of that.
_HOMES = {
    "ChangeTotals": "feed_counts",
    "ColumnPresence": "column_presence",
    "ConflictCheck": "conflict_check",
    "FileReason": "file_fates",
    "FilesPage": "file_pages",
    "Folder": "folder_files",
    "Health": "table_health",
    "HiddenRows": "row_deletions",
    "Layout": "layout_sizes",
    "Losses": "lost_engines",
    "Reachability": "reachability",
    "RowHistory": "row_search",
    "StatisticsReport": "statistics",
    "change_totals": "feed_counts",
    "check_conflicts": "conflict_check",
    "clustering_depth": "overlap",
    "column_statistics": "statistics",
    "columns_by_files": "column_presence",
    "columns_by_statistics": "column_presence",
    "commit_actions": "action_lines",
    "commit_info": "commit_record",
    "deletion_vectors": "row_deletions",
    "describe": "description",
    "domains": "state",
    "engine_losses": "lost_engines",
    "engines": "engine_matrix",
    "engines_sentence": "engine_matrix",
    "features": "feature_history",
    "file_layout": "layout_sizes",
    "files_health": "table_health",
    "files_page": "file_pages",
    "foreign_files": "folder_files",
    "hidden_rows": "row_deletions",
    "history": "commit_history",
    "log_files": "log_folder",
    "log_health": "table_health",
    "losses_sentence": "lost_engines",
    "optimize_effects": "optimize_history",
    "reach_by_files": "reachability",
    "reach_by_log": "reachability",
    "schema": "schema_fields",
    "search_rows": "row_search",
    "timeline": "commit_timeline",
    "transactions": "state",
    "why_here": "file_reasons",
    "writer_rules": "table_rules",
}

__all__ = [
    "ChangeTotals",
    "ColumnPresence",
    "ConflictCheck",
    "FileReason",
    "FilesPage",
    "Folder",
    "Health",
    "HiddenRows",
    "Layout",
    "Losses",
    "Reachability",
    "RowHistory",
    "StatisticsReport",
    "change_totals",
    "check_conflicts",
    "clustering_depth",
    "column_statistics",
    "columns_by_files",
    "columns_by_statistics",
    "commit_actions",
    "commit_info",
    "deletion_vectors",
    "describe",
    "domains",
    "engine_losses",
    "engines",
    "engines_sentence",
    "features",
    "file_layout",
    "files_health",
    "files_page",
    "foreign_files",
    "hidden_rows",
    "history",
    "log_files",
    "log_health",
    "losses_sentence",
    "optimize_effects",
    "reach_by_files",
    "reach_by_log",
    "schema",
    "search_rows",
    "timeline",
    "transactions",
    "why_here",
    "writer_rules",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
