"""Tables and their snapshots.

In: a place. Out: a `Table`, its `Snapshot` of a version or a time, and its history. A snapshot
never changes; a table keeps in memory what the next snapshot can use again.

Read first: `table`, then `snapshot`.
"""
