"""SQL expressions of users and tables, checked before Spark evaluates them.

In: the text of a CHECK constraint or of a generated column. Out: the same text, checked to have
only columns, literals, operators and allowed functions; or an error.

Read first: `expressions`.
"""
