"""Logs with more files than one driver should hold (spec: Action Reconciliation).

In: a table and the limits of its driver. Out: a table whose reconciled files stay on Spark, with
the same answers.

Read first: `large_table`.
"""
