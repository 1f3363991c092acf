"""The rows of a snapshot, or of the change data feed, as a DataFrame.

In: a snapshot or a range of versions. Out: a DataFrame, classic or Connect; also as the data
source `delta_explorer` in SQL.

Read first: `reading`.
"""
