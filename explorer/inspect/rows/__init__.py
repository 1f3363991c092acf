"""When rows were written, changed or deleted.

In: a table and a predicate. Out: a `RowHistory` over all versions; counts of the change data
feed.

Read first: `row_search`.
"""
