"""How large files are, how well rows are clustered, and what each OPTIMIZE did (spec: Clustered
Table).

In: a snapshot. Out: sizes by class and partition, the depth of clustering by column.

Read first: `sizes`.
"""
