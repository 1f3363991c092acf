"""Merges: rows of a source change, delete and add rows of a table.

In: a condition that pairs rows of the table with rows of the source, and clauses that say what
becomes of the pairs and of rows without a partner. Out: for each clause the values of the table's
columns, what the table is to become, the files that may hold a partner, and what a commit says of
it. Nothing here looks at a row: `explorer.pipeline.merging` does, on Spark and in this process.

Read first: `clauses`, then `resolving`.
"""
