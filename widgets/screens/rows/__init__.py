"""Rows of a version, and when such rows were changed.

In: a version and a condition. Out: rows. Read first: `view`.
"""
