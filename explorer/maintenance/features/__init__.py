"""Enabling and dropping table features (spec: Table Features, Protocol Evolution).

In: a table and the name of a feature. Out: a `Plan` with what has to be true before and
afterwards.

Read first: `upgrade`, then `drop_feature`.
"""
