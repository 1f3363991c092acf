"""Answers for people: one function per displayed fact, Arrow tables unless said.

Each answer carries its evidence: the log file, and the line where one is meant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.inspect.action_lines import commit_actions
    from explorer.inspect.commit_history import history
    from explorer.inspect.commit_record import commit_info
    from explorer.inspect.commit_timeline import timeline
    from explorer.inspect.description import describe
    from explorer.inspect.engine_matrix import engines, engines_sentence
    from explorer.inspect.feature_history import features
    from explorer.inspect.file_pages import FilesPage, files_page
    from explorer.inspect.log_folder import log_files
    from explorer.inspect.row_deletions import HiddenRows, deletion_vectors, hidden_rows
    from explorer.inspect.schema_fields import schema
    from explorer.inspect.state import domains, transactions
    from explorer.inspect.statistics import StatisticsReport, column_statistics
    from explorer.inspect.table_rules import writer_rules

# Name -> the module that defines it, loaded when the name is asked for. No module
# is called like what it defines: importing it would put it in the place of that.
_HOMES = {
    "FilesPage": "file_pages",
    "HiddenRows": "row_deletions",
    "StatisticsReport": "statistics",
    "column_statistics": "statistics",
    "commit_actions": "action_lines",
    "commit_info": "commit_record",
    "deletion_vectors": "row_deletions",
    "describe": "description",
    "domains": "state",
    "engines": "engine_matrix",
    "engines_sentence": "engine_matrix",
    "features": "feature_history",
    "files_page": "file_pages",
    "hidden_rows": "row_deletions",
    "history": "commit_history",
    "log_files": "log_folder",
    "schema": "schema_fields",
    "timeline": "commit_timeline",
    "transactions": "state",
    "writer_rules": "table_rules",
}

__all__ = [
    "FilesPage",
    "HiddenRows",
    "StatisticsReport",
    "column_statistics",
    "commit_actions",
    "commit_info",
    "deletion_vectors",
    "describe",
    "domains",
    "engines",
    "engines_sentence",
    "features",
    "files_page",
    "hidden_rows",
    "history",
    "log_files",
    "schema",
    "timeline",
    "transactions",
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
