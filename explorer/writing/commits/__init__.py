"""Commits of rows: who made them, how they are repeated, and what follows them.

In: what was written, and the version that it was made from. Out: the new version.

Read first: `provenance`.
"""
