"""Whether the log is sound.

In: a table. Out: findings, the cost of opening, what would mend it. Read first: `view`.
"""
