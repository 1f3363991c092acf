"""Which commits a transaction would conflict with, and by which rule.

In: a table, the version that was read, and what was read. Out: a `ConflictCheck`; or, of the
newest commits alone, `RecentConflicts`, what each kind of transaction meets.

Read first: `conflict_check`.
"""
