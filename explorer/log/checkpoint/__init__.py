"""Reading a checkpoint of any kind (spec: Checkpoints, V2 Checkpoint, Sidecar Files).

In: the listing's checkpoint and a store. Out: its small actions, and its Parquet files row group
by row group.

Read first: `read`.
"""
