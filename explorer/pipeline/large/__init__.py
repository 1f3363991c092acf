"""Tables with more files than fit into the driver's memory (spec: Action Reconciliation).

In: a table and the limits of the driver. Out: a table whose reconciled files stay on Spark and
give the same results.

Read first: `large_table`.
"""
