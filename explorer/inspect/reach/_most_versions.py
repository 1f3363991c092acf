"""How many versions are told one by one."""

from __future__ import annotations

import numpy as np

from explorer.errors import UnsupportedError
from explorer.log.folder.listing import LogListing
from explorer.log.plain_arrays import Flags

MOST_VERSIONS = 10_000_000
"""A commit every ten seconds of three years; a hundred bytes each. The name of one file in a log
may claim any number."""


def flag_commits(listing: LogListing, latest: int) -> Flags:
    """Which of the versions 0 to `latest` have a commit; raises `UnsupportedError` where they are
    more than are told one by one."""
    if latest >= MOST_VERSIONS:
        raise UnsupportedError(
            "This log has too many versions to tell each of them.",
            reason=f"Its newest is version {latest:,}; at most {MOST_VERSIONS:,} are told.",
            remedy="Read single versions by their numbers; check the names in _delta_log if the "
            "table cannot have so many.",
            kind="limit_exceeded",
        )
    found: Flags = np.zeros(latest + 1, np.bool_)
    found[np.asarray(listing.commits, np.int64)] = True
    return found
