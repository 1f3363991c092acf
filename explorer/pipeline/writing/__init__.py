"""Rows that users write: in this process where they are Arrow's or pandas' own, else by Spark.

In: rows, and what is asked of the write. Out: a version, by the statement of
`explorer.writing.statements` that both engines carry out.

Read first: `write`, then `given_data`, and `spark_gate` for what Spark makes of the rows.
"""
