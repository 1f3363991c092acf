"""Two versions side by side: files, rows, statistics, schema, properties and protocol.

In: two snapshots. Out: a `VersionDiff`, whose layers are worked out when they are asked for.

Read first: `versions`, then `file_changes`.
"""
