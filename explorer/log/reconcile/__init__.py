"""Action reconciliation (spec: Action Reconciliation).

In: log files, newest first. Out: a `Tail`, the result of the commits after a checkpoint: the
actions in force, and the keys of the files that they add or remove.

Read first: `replay`, then `tail`.
"""
