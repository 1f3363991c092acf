"""Verbs about data files: `layout`, `skip`, `stats`, `dv`, `why`, `foreign`.

In: a table's URI, and conditions or paths. Out: how files lie, which a query reads, and why one
is there.

Read first: `layout_verb`.
"""
