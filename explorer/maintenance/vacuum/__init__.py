"""Plans for VACUUM: which files no version within retention needs (spec: Add File and Remove
File).

In: a table and a retention. Out: a `Plan` that deletes files, with a reason for each file that
is deleted or left.

Read first: `vacuum`, then `_vacuum_files`.
"""
