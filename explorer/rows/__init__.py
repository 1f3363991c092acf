"""Rows of a table as Arrow batches, read from data files as the log says they are to be read.

In: a snapshot and a request for columns and rows. Out: batches with the columns of the table,
without deleted rows; for versions of the change data feed the changed rows. The way: a file
(`data_file`), its columns as the table's (`conversion`); `changes` is the feed.

Read first: `read`, then `request`.
"""
