"""Tables and their snapshots."""
