"""Commits: staged actions, writer rules, conflict detection, the commit loop.

In: a `StagedCommit` and the version that it was built on. Out: a new version, or an error with
the conflict or the broken rules (`rules`).

Read first: `commit`, then `conflicts`.
"""
