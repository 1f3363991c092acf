"""SQL expressions of users and tables, checked before Spark evaluates them.

In: the text of a condition, of a CHECK constraint, of a generated column or of a default. Out: the
same text, proven to hold nothing but columns, literals, operators and allowed functions; or an
error.

Read first: `expressions`, then `table_expressions`.
"""
