"""What every plan is made of: steps with reasons, guards, files, a digest.

In: a table as an operation finds it. Out: a `Plan`, which is plain data, and the verdicts of its
guards. Nothing here changes a table.

Read first: `plan` and `step_types`, then `planning` and `guards`.
"""
