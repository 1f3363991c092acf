"""Choosing a table: the list of tables, and the start page.

In: the tables that a page offers. Out: the address of the chosen one. Read first: `view`.
"""
