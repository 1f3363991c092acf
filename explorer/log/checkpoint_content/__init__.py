"""What goes into a checkpoint (spec: Checkpoints, Checkpoint Schema).

In: a loaded version. Out: the rows of a checkpoint in its schema, with statistics and partition
values as structs where the table asks for them. Unknown fields are kept. The metadata and sidecars
of a V2 checkpoint come from `checkpoint_writing`.

Read first: `content`, then `file_rows`.
"""
