"""Two versions side by side: files, rows, statistics, schema, properties and protocol.

In: two snapshots. Out: a `VersionDiff`, whose layers are computed when they are first read.

Read first: `versions`, then `file_changes`.
"""
