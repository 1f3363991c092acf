"""Verbs that change a table: rows written and changed, maintenance, columns and features.

In: a table's URI and what is wanted, or the digest of a plan. Out: a plan, or with `--apply` the
receipt of what was done.

Read first: `maintenance_verbs`.
"""
