"""Statistics in JSON as columns of Arrow, many files at a time (spec: Per-file Statistics).

In: the column `stats` of adds. Out: minimum, maximum, null count and `numRecords` of chosen
columns, typed. JSON texts of the same shape are parsed together, the others one by one.

Read first: `statistics_text`.
"""
