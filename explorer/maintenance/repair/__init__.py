"""Repairs: the hint, checkpoints, references to missing files, missing statistics.

In: a table. Out: a `Plan` for each thing that can be mended.

Read first: `repair`.
"""
