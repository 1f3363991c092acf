"""Whether a log is sound, what opening the table costs, and what would repair it.

In: a table. Out: a `Health`: findings with evidence, rule and remedy, the most severe first.

Read first: `table_health`, then `findings`.
"""
