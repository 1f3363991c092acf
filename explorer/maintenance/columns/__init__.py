"""Plans that change the columns of a table, or by which of them its rows lie together.

In: a table, and what is to become of its columns. Out: a `Plan` of one commit. What becomes of the
schema is worked out by `explorer.writing.columns`.

Read first: `column_plans`, then `cluster_plan`.
"""
