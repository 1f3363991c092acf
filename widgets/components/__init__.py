"""Pieces of the page: HTML from values, escaped, and what carries it."""
