"""The columns of a table, and which files hold them by what name (spec: Schema Serialization
Format, Column Mapping).

In: a snapshot. Out: a row for each field, and a `ColumnPresence`.

Read first: `fields`, then `presence`.
"""
