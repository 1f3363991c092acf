"""The files of the log folder.

In: a table. Out: its log files by kind. Read first: `view`.
"""
