"""Statistics and partition values of many files as typed columns (spec: Per-file Statistics,
Partition Value Serialization).

In: tables of adds and a schema. Out: a column of Arrow for each known fact, and ranges that
surely hold every value.

Read first: `column_statistics`, then `bounds`.
"""
