"""A realistic table with a history, to explore and for tests.

In: an empty folder. Out: a table with six weeks of commits, always the same.

Read first: `write`, then `_shop_history`.
"""
