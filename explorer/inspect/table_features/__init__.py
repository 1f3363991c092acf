"""Table features: supported, active, since which commit, and what they require of writers (spec:
Table Features).

In: a table or a snapshot. Out: a row for each feature or rule.

Read first: `feature_states`.
"""
