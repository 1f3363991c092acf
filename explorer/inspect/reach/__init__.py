"""How far time travel and the change data feed go (spec: Metadata Cleanup).

In: a table. Out: a `Reachability`: for each version whether it can be read, and why not.

Read first: `reachability`.
"""
