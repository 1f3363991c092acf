"""How a version comes into being: staged actions, conflicts, the commit loop.

In: a `StagedCommit` and the version that it was built on. Out: a new version, or the conflict or
the rules (`rules`) that stand in its way.

Read first: `commit`, then `conflicts`.
"""
