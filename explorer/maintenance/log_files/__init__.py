"""Plans for files of the log: checkpoints, compaction, cleanup (spec: Checkpoints, Log
Compaction Files, Metadata Cleanup).

In: a table. Out: a `Plan` that writes or deletes log files and commits nothing.

Read first: `checkpoint`, then `log_cleanup`.
"""
