"""Which files of a version a predicate leaves, and why (spec: Per-file Statistics).

In: a snapshot and SQL text. Out: a `ScanPlan`: the files to read, and for each other file the
reason why it is skipped.

Read first: `plan`, then `possibility`.
"""
