"""Facts about a table, one function for each; an Arrow table unless the function says otherwise.

Each fact has its evidence: the log file, and the line where there is one. Beside it is its record
(`answer`): its parameters and its JSON document. `explorer.answers` lists the records.

Folders: `advice`, `commits`, `conflicts`, `files`, `layout`, `rows`, `engine_support`, `health`,
`reach`, `columns` and `table_features`. The `__init__.py` of each is its guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.front_door import lazy_names

if TYPE_CHECKING:
    from explorer.inspect.advice.advice import Advice, advice_by_files, advice_by_log
    from explorer.inspect.applications_and_domains import domains, transactions
    from explorer.inspect.columns.fields import schema
    from explorer.inspect.columns.presence import (
        ColumnPresence,
        columns_by_files,
        columns_by_statistics,
    )
    from explorer.inspect.columns.schema_history import schema_history, schema_history_sentence
    from explorer.inspect.commits.action_lines import commit_actions
    from explorer.inspect.commits.commit_history import history
    from explorer.inspect.commits.commit_record import commit_info
    from explorer.inspect.commits.commit_timeline import timeline
    from explorer.inspect.commits.told_commits import (
        CommitSentence,
        commit_condition,
        commit_sentence,
        history_sentences,
        row_sentence,
    )
    from explorer.inspect.conflicts.conflict_check import ConflictCheck, check_conflicts
    from explorer.inspect.conflicts.recent_commits import RecentConflicts, recent_conflicts
    from explorer.inspect.description import describe
    from explorer.inspect.engine_support.lost_engines import (
        Losses,
        engine_losses,
        losses_sentence,
        readers_sentence,
    )
    from explorer.inspect.engine_support.matrix import engines, engines_sentence
    from explorer.inspect.engine_support.used_engines import engines_in_use
    from explorer.inspect.files.file_judgement import FileReason
    from explorer.inspect.files.file_pages import FilesPage, files_page
    from explorer.inspect.files.file_reasons import why_here
    from explorer.inspect.files.folder_files import Folder, foreign_files
    from explorer.inspect.files.log_folder import log_files
    from explorer.inspect.files.row_deletions import HiddenRows, deletion_vectors, hidden_rows
    from explorer.inspect.files.statistics import StatisticsReport, column_statistics
    from explorer.inspect.health.table_health import Health, files_health, log_health
    from explorer.inspect.layout.one_partition import PartitionLayout, partition_layout
    from explorer.inspect.layout.optimize_history import optimize_effects
    from explorer.inspect.layout.overlap import clustering_depth
    from explorer.inspect.layout.sizes import Layout, file_layout
    from explorer.inspect.reach.reachability import Reachability, reach_by_files, reach_by_log
    from explorer.inspect.rows.commit_rows import CommitRows, commit_rows
    from explorer.inspect.rows.feed_counts import ChangeTotals, change_totals
    from explorer.inspect.rows.row_blame import RowBlame, blame_row
    from explorer.inspect.rows.row_condition import key_columns, row_condition
    from explorer.inspect.rows.row_differences import RowDifferences, row_differences
    from explorer.inspect.rows.row_search import RowHistory, search_rows
    from explorer.inspect.table_features.feature_history import features
    from explorer.inspect.table_features.writer_rules import writer_rules

# Name -> the module that defines it, loaded when the name is asked for. No module
# is called like what it defines: importing it would put it in the place of that.
_HOMES = {
    "Advice": "advice.advice",
    "ChangeTotals": "rows.feed_counts",
    "ColumnPresence": "columns.presence",
    "CommitRows": "rows.commit_rows",
    "CommitSentence": "commits.told_commits",
    "ConflictCheck": "conflicts.conflict_check",
    "FileReason": "files.file_judgement",
    "FilesPage": "files.file_pages",
    "Folder": "files.folder_files",
    "Health": "health.table_health",
    "HiddenRows": "files.row_deletions",
    "Layout": "layout.sizes",
    "Losses": "engine_support.lost_engines",
    "PartitionLayout": "layout.one_partition",
    "Reachability": "reach.reachability",
    "RecentConflicts": "conflicts.recent_commits",
    "RowBlame": "rows.row_blame",
    "RowDifferences": "rows.row_differences",
    "RowHistory": "rows.row_search",
    "StatisticsReport": "files.statistics",
    "advice_by_files": "advice.advice",
    "advice_by_log": "advice.advice",
    "blame_row": "rows.row_blame",
    "change_totals": "rows.feed_counts",
    "check_conflicts": "conflicts.conflict_check",
    "clustering_depth": "layout.overlap",
    "column_statistics": "files.statistics",
    "columns_by_files": "columns.presence",
    "columns_by_statistics": "columns.presence",
    "commit_actions": "commits.action_lines",
    "commit_condition": "commits.told_commits",
    "commit_info": "commits.commit_record",
    "commit_rows": "rows.commit_rows",
    "commit_sentence": "commits.told_commits",
    "deletion_vectors": "files.row_deletions",
    "describe": "description",
    "domains": "applications_and_domains",
    "engine_losses": "engine_support.lost_engines",
    "engines": "engine_support.matrix",
    "engines_in_use": "engine_support.used_engines",
    "engines_sentence": "engine_support.matrix",
    "features": "table_features.feature_history",
    "file_layout": "layout.sizes",
    "files_health": "health.table_health",
    "files_page": "files.file_pages",
    "foreign_files": "files.folder_files",
    "hidden_rows": "files.row_deletions",
    "history": "commits.commit_history",
    "history_sentences": "commits.told_commits",
    "key_columns": "rows.row_condition",
    "log_files": "files.log_folder",
    "log_health": "health.table_health",
    "losses_sentence": "engine_support.lost_engines",
    "optimize_effects": "layout.optimize_history",
    "partition_layout": "layout.one_partition",
    "reach_by_files": "reach.reachability",
    "reach_by_log": "reach.reachability",
    "recent_conflicts": "conflicts.recent_commits",
    "readers_sentence": "engine_support.lost_engines",
    "row_condition": "rows.row_condition",
    "row_differences": "rows.row_differences",
    "row_sentence": "commits.told_commits",
    "schema": "columns.fields",
    "schema_history": "columns.schema_history",
    "schema_history_sentence": "columns.schema_history",
    "search_rows": "rows.row_search",
    "timeline": "commits.commit_timeline",
    "transactions": "applications_and_domains",
    "why_here": "files.file_reasons",
    "writer_rules": "table_features.writer_rules",
}

__all__ = [
    "Advice",
    "ChangeTotals",
    "ColumnPresence",
    "CommitRows",
    "CommitSentence",
    "ConflictCheck",
    "FileReason",
    "FilesPage",
    "Folder",
    "Health",
    "HiddenRows",
    "Layout",
    "Losses",
    "PartitionLayout",
    "Reachability",
    "RecentConflicts",
    "RowBlame",
    "RowDifferences",
    "RowHistory",
    "StatisticsReport",
    "advice_by_files",
    "advice_by_log",
    "blame_row",
    "change_totals",
    "check_conflicts",
    "clustering_depth",
    "column_statistics",
    "columns_by_files",
    "columns_by_statistics",
    "commit_actions",
    "commit_condition",
    "commit_info",
    "commit_rows",
    "commit_sentence",
    "deletion_vectors",
    "describe",
    "domains",
    "engine_losses",
    "engines",
    "engines_in_use",
    "engines_sentence",
    "features",
    "file_layout",
    "files_health",
    "files_page",
    "foreign_files",
    "hidden_rows",
    "history",
    "history_sentences",
    "key_columns",
    "log_files",
    "log_health",
    "losses_sentence",
    "optimize_effects",
    "partition_layout",
    "reach_by_files",
    "reach_by_log",
    "readers_sentence",
    "recent_conflicts",
    "row_condition",
    "row_differences",
    "row_sentence",
    "schema",
    "schema_history",
    "schema_history_sentence",
    "search_rows",
    "timeline",
    "transactions",
    "why_here",
    "writer_rules",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
