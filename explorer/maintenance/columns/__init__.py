"""Plans that change the columns of a table, or by which of them its rows lie together.

Read first `column_plans`, then `cluster_plan`. What becomes of the schema is worked out by
`explorer.writing.columns`; `_schema_plan` makes the plan of it.
"""
