"""Which commit stood in the way of a transaction.

In: the version that was read and a condition. Out: the commits, by rule. Read first: `view`.
"""
