"""Which commits a transaction would conflict with, and by which rule.

In: a table, the version that was read, and what was read. Out: a `ConflictCheck`.

Read first: `conflict_check`.
"""
