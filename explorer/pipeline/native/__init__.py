"""Rows read by Spark's own Parquet reader, where it can read the version.

In: a snapshot, columns and a predicate. Out: a DataFrame, or the reason why the rows have to be
read file by file instead.

Read first: `route`, then `rows`.
"""
