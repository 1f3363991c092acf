"""Verbs that say what a table is: `inspect`, `schema`, `engines`, `health` and their kin.

In: a table's URI and a version. Out: what it is at that version, what is wrong with it, and who can
read it.

Read first: `table_verbs`.
"""
