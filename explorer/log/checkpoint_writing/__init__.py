"""Writing files of the log beside commits (spec: Checkpoints, Log Compaction Files, Version
Checksum File).

In: a loaded version and a `WriteStore`. Out: a checkpoint that was read back, `_last_checkpoint`,
a log compaction file or a version checksum.

Read first: `checkpoint_writer`.
"""
