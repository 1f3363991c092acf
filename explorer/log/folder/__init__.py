"""Which files of a log folder make up a version (spec: Delta Log Entries, Last Checkpoint File).

In: a listing of the log folder. Out: a `LogListing` by kind of file, and the `LogSegment` that
has to be read for a version: a checkpoint, log compaction files, commits.

Read first: `listing`, then `segment`.
"""
