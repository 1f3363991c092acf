"""Planning and doing an optimize (spec: Clustered Table, Deletion Vectors).

In: a table, a target size, an order of rows. Out: a `Plan` that rewrites groups of files in one
commit, and the step that does it.

Read first: `optimize`, then `_groups`.
"""
