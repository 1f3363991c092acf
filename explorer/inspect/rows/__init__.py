"""When rows were written, changed or deleted.

In: a table and a predicate. Out: a `RowHistory` over all versions; a `RowBlame`, which commit
last set each value of a row; counts of the change data feed.

Read first: `row_search`, then `row_blame`.
"""
