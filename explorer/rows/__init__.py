"""Rows of a table as Arrow batches, read from data files as the log says they are to be read."""
