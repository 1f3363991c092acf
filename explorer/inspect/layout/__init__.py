"""How large files are, how well rows are clustered, and what OPTIMIZE did to it (spec: Clustered
Table).

In: a snapshot. Out: sizes by class and partition, the depth of clustering by column.

Read first: `sizes`.
"""
