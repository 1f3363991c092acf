"""Spark tasks that read data files with this package's own reader.

In: files of a table, in groups of about the same size. Out: their rows, read through the table's
store, in Spark's types.

Read first: `file_tasks`.
"""
