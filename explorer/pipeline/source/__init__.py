"""The format `delta_explorer` of Spark: tables read and written by batches and by streams, by the
Python Data Source API alone.

In: Spark's own calls, and options with Delta's names. Out: rows, or versions of the table.

Read first: `registration`, then `_data_source`; for streams that are read `_table_stream`.
"""
