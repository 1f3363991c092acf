"""How a person changes the columns of a table that is there, whose rows stay as they are.

Read first `column_changes`: add, rename, drop and change, each from the version that was read to
the one that is to be. `column_places` finds a column by its path, `added_columns` reads the SQL of
columns to add. Columns that rows bring with them are a matter of `explorer.writing.schema`.
"""
