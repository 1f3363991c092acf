"""What added and removed files have to say, by themselves and beside those that are live.

In: a `Change` with its file actions. Out: problems, all of them.

Read first: `file_rules`.
"""
