"""The change data feed.

In: a range of versions. Out: changed rows by version, then the rows. Read first: `view`.
"""
