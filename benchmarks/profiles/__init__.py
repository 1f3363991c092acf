"""Logs as other writers leave them: what differs between them has a name and a number.

In: a `Profile`. Out: the same log for the same profile, made of columns, so that a million
files take seconds. Read first: `profile`, where the named ones stand; then `log_files`, which
writes one, and `file_actions`, which makes its actions. `likeness` takes the numbers of a real
table, `other_writers` lets `deltalake` and delta-spark write the checkpoint.
"""
