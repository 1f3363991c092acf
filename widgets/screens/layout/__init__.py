"""Sizes of files, bytes by partition, clustering, OPTIMIZE.

In: a version. Out: its layout in figures. Read first: `view`.
"""
