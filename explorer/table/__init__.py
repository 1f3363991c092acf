"""Tables and their snapshots.

In: a path or a URL. Out: a `Table`, its `Snapshot` at a version or a time, and its history. A
snapshot never changes; a table caches what its next snapshot can use again.

Read first: `table`, then `snapshot`.
"""
