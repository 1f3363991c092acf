"""Data skipping: which files a query has to read, and why (spec: Per-file Statistics).

In: a snapshot and a SQL predicate. Out: a `ScanPlan`: the files to read, and for each other file
the reason why it is skipped. `predicate` parses the text, `statistics` reads what is known of
each file, `possibility` decides whether a row may match. `sql` checks expressions that Spark
evaluates.

Read first: `plan`, then `possibility`.
"""
