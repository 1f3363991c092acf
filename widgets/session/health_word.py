"""The health of a table's log in a word, for the line above every view."""

from __future__ import annotations

import explorer.inspect as look
from explorer.inspect.health.findings import SEVERITIES
from widgets.session.tables import TableService


def read_health_word(service: TableService) -> str:
    """One of `HEALTH_WORDS`, by what the log alone says."""
    return health_word(look.log_health(service.table))


def health_word(health: look.Health) -> str:
    """That of the gravest finding."""
    return next((word for word in SEVERITIES if health.has_finding(word)), "sound")
