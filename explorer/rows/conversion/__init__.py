"""Columns of a data file as columns of the table (spec: Column Mapping, Type Widening).

In: columns as a file stores them, by its own names and types. Out: columns in the table's
schema; a column that the file does not have is null.

Read first: `columns`.
"""
