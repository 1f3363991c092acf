"""Deletion vectors of a version.

In: a version. Out: density by file, and the deleted rows of one. Read first: `view`.
"""
