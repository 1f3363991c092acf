"""Exact statistics of columns: counts, extremes, quantiles, most frequent values.

In: a snapshot and names of columns. Out: a `ColumnProfile` for each, from the log where the log
is exact, otherwise from all rows.

Read first: `column_profile`.
"""
