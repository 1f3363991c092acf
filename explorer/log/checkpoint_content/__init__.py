"""What goes into a checkpoint (spec: Checkpoints, Checkpoint Schema).

In: a loaded version. Out: the rows of a checkpoint in its schema, with statistics and partition
values as structs where the table asks for them, and fields that nobody here knows kept. What a
V2 checkpoint has besides, its metadata and sidecars, comes from `checkpoint_writing`.

Read first: `content`, then `file_rows`.
"""
