"""Which files of a version a predicate leaves, and why (spec: Per-file Statistics).

In: a snapshot and SQL text. Out: a `ScanPlan`: the files to read, and for each other file the
reason why it is skipped. The way: `predicate` makes a tree of the text, `statistics` says what is
known of each file, `possibility` holds the two against each other. `sql` checks expressions that
Spark is to compute.

Read first: `plan`, then `possibility`.
"""
