"""SQL expressions of people and tables, looked at before Spark sees them.

In: the text of a CHECK constraint or of a generated column. Out: the same text, proven to hold
nothing but columns, literals, operators and allowed functions; or an error.

Read first: `expressions`.
"""
