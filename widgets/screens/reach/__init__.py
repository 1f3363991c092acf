"""How far time travel reaches, and why files are still here.

In: a table. Out: its readable versions on one axis; the reason for one file.
Read first: `view`, then `_files_view`.
"""
