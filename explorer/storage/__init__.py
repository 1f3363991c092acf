"""The only door to bytes."""
