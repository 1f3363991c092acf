"""Rows that leave their data files: looked for, and then hidden or left behind by a copy of the
others; in this process where there are few, else in tasks of Spark.

In: a statement of `explorer.writing.statements.change_statement`, and a condition. Out: the rows
that were found (`FOUND`), and what becomes of their files (`RowChanges`).

Read first: `workplace`, then `finding` and `leaving`.
"""
