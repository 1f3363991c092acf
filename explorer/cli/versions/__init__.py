"""Verbs about commits and what lies between two versions: `diff`, `changes`, `reach` and more.

In: a table's URI and versions of it. Out: what changed, when, and how far back one can still see.

Read first: `diff_verb`.
"""
