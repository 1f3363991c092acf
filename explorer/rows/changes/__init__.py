"""The change data feed (spec: Add CDC File, Change Data Files).

In: a table and a range of versions. Out: the rows inserted, updated and deleted in each, or
their number.

Read first: `feed`, then `change_actions`.
"""
