"""The reconciled files of one version (spec: Action Reconciliation).

In: a checkpoint and the `Tail` of the commits after it. Out: the live files and the tombstones
as batches of Arrow; only the columns that are asked for are read.

Read first: `reconciled_files`, then `_live_groups`.
"""
