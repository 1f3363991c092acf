"""The columns of a table, and which files hold them by what name (spec: Schema Serialization
Format, Column Mapping).

In: a table or a snapshot. Out: a row for each field, for each change of one, and a
`ColumnPresence`.

Read first: `fields`, then `schema_history` and `presence`.
"""
