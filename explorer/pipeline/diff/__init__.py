"""Which rows differ between two versions.

In: two snapshots. Out: a `RowDiff`: counts and rows, from the files or the change data feed that
the two do not share.

Read first: `row_diff`.
"""
