"""Rows of a table as Arrow batches.

In: a snapshot, columns and a predicate. Out: batches with the columns of the table, without
deleted rows. `data_file` reads one file, `conversion` turns its columns into those of the table,
and `changes` reads the change data feed.

Read first: `read`, then `request`.
"""
