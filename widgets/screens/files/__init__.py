"""The files of a version.

In: a version. Out: a page of files, one of them opened. Read first: `view`.
"""
