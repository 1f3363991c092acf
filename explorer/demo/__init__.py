"""A realistic table with a history of its own, for looking around and for tests."""
