"""The rows of one data file (spec: Data Files, Deletion Vectors, Row Tracking).

In: an add action and a request. Out: batches of the rows that are not deleted, with the
partition values, and the row ids and commit versions by `row_tracking`.

Read first: `data_file`, then `read_file`.
"""
