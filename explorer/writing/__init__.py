"""What users write: rows that keep the rules of the table, in new data files, in one commit.

In: rows, and protocol, metadata and schema of the version that is to be. Out: a new version, or
the row, the rule or the other commit that stands in its way. Nothing here knows Spark: where many
rows are written, `explorer.pipeline` runs the same functions in its tasks.

Rooms: `schema` says what a table is to become; `columns` what a person makes of its columns; `gate`
holds each row to the table's rules; `files` is what a written file is; `changes` what becomes of
rows that are there; `merging` what the clauses of a merge say; `commits` makes the version, and
what follows it; `statements` puts these together.

Read first: `statements`, then `gate` and `files`.
"""
