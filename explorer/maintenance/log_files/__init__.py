"""Planning for files of the log: checkpoints, compaction, cleanup (spec: Checkpoints, Log
Compaction Files, Metadata Cleanup).

In: a table. Out: a `Plan` that writes or deletes log files and makes no new version.

Read first: `checkpoint`, then `log_cleanup`.
"""
