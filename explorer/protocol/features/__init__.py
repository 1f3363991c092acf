"""Table features: one registry, one entry each, a file where a feature has rules of its own."""
