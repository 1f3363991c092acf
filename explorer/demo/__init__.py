"""A realistic table with a history of its own, for looking around and for tests.

In: an empty folder. Out: a table that six weeks of commits made, always the same.

Read first: `write`, then `_shop_history`.
"""
