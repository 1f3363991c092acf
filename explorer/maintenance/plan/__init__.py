"""The types of a plan: steps with reasons, the verdicts of guards, files, a digest.

In: the newest version of a table. Out: a `Plan`, which is plain data, and the verdicts of its
guards. Nothing here changes a table.

Read first: `plan` and `step_types`, then `planning_context` and `guards`.
"""
