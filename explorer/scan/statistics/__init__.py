"""Statistics and partition values of many files as typed columns (spec: Per-file Statistics,
Partition Value Serialization).

In: tables of adds and a schema. Out: an Arrow column for each statistic, and for each column a
range that contains every value.

Read first: `column_statistics`, then `bounds`.
"""
