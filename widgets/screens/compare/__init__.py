"""Two versions compared, and what a restore would do.

In: two versions. Out: their differences in layers. Read first: `view`.
"""
