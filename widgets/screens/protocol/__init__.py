"""Protocol, features and properties.

In: a version. Out: what its readers and writers must support. Read first: `view`.
"""
