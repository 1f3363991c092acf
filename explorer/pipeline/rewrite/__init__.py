"""Rows of some files written into others.

In: groups of data files and an order of rows. Out: new data files with their statistics, not yet
in any version.

Read first: `rewrite`, then `write_files`.
"""
