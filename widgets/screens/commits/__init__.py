"""The commits as a table, one of them in detail, and the filter.

In: the history. Out: a selected version. Read first: `view`, then `commit_view`.
"""
