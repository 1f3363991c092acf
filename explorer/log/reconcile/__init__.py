"""The rule of reconciliation (spec: Action Reconciliation).

In: log files, newest first. Out: a `Tail`, which is what the commits after a checkpoint come to:
the actions in force, and the keys of files that they decide.

Read first: `replay`, then `tail`.
"""
