"""What the features of a table ask of a commit, one module for each kind of rule.

In: a `Change`, which is a commit with the version before it. Out: problems, all of them. What
schemas and properties keep to is in `metadata`, what file actions keep to in `files`. A new rule
is added to `all_rules`.

Read first: `change`.
"""
