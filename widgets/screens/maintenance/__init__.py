"""Maintenance: choose, plan, review, approve, run, receipt.

In: an operation and its form. Out: a plan for review, a run, its receipt, and the documents of
earlier ones. Read first: `view`, then `_review_view`.
"""
