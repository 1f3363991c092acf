"""Which files of a version a predicate leaves, and why (spec: Per-file Statistics)."""
