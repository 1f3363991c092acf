"""How a person changes the columns of a table that is there, whose rows stay as they are.

In: the version that was read, and what is to become of its columns, also as SQL. Out: a
`ColumnChange`, or why it cannot be. Columns that rows bring are a matter of `schema`.

Read first: `column_changes`, then `column_places`.
"""
