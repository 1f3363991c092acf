"""Predicates over the columns of a table.

In: SQL text and a schema. Out: a `Predicate`, which is a tree of values, and its truth for rows.

Read first: `predicate`, then `parse`.
"""
