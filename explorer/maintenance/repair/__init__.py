"""Repairs: the hint, checkpoints, references to missing files, missing statistics.

In: a table. Out: a `Plan` for each kind of damage that can be repaired.

Read first: `repair`.
"""
