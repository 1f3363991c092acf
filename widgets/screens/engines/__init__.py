"""Who can read and write the table.

In: a version. Out: a verdict for each engine, with its source. Read first: `view`.
"""
