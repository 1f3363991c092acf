"""Which rows differ between two versions.

In: two snapshots. Out: a `RowDiff`: counts and rows, read from the files that only one of the
versions has, or from the change data feed between them.

Read first: `row_diff`.
"""
