"""Merges, on Spark or in this process.

In: a table, the rows of a source, and clauses. Out: a version, by what `explorer.writing.merging`
says of the clauses, and by the floor `explorer.writing.changes` for rows that leave their files and
come into others.

On Spark the source is read once, into a local checkpoint of the session (`_source`). Each row of
the table that a clause takes is found by one join with it (`_pairs`), which is kept while the
statement runs: its positions say which rows leave their files, and its values, clause by clause,
go through the gate of rows into new files (`_new_rows`). Rows of the source without a partner are
those that the join does not name.

Read first: `merge`, then `_spark_merge`.
"""
