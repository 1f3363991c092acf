"""The columns of a version.

In: a version. Out: fields, rules, and the files that hold each column. Read first: `view`.
"""
