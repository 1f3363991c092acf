"""Planning vacuum: which files no promised version needs (spec: Add File and Remove File).

In: a table and a retention. Out: a `Plan` that deletes files, with a reason for each file that
goes and each that stays.

Read first: `vacuum`, then `_vacuum_files`.
"""
