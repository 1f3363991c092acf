"""Writing files of the log beside commits (spec: Checkpoints, Log Compaction Files, Version
Checksum File).

In: a loaded version and a `WriteStore`. Out: a checkpoint that was read back, `_last_checkpoint`,
a log compaction file or a version checksum.

`checkpoint_form` says which a table gets: V1 or V2, under which name, with or without sidecars.

Read first: `checkpoint_writer`.
"""
