"""Exact figures of columns.

In: a snapshot and names of columns. Out: a `ColumnProfile` for each, from the log where it is
exact, else from all rows.

Read first: `column_profile`.
"""
