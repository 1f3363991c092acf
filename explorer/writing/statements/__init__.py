"""Statements that write rows: what was asked for, what it does to the version that it finds, and
what came of it.

In: options, and the columns of the rows that are to come. Out: a `RowStatement`, by which a writer
in this process or in the tasks of Spark makes files, and which commits them.

Read first: `options`, then `row_statement`.
"""
