"""What statistics cover and what they save.

In: a version and a condition. Out: coverage by column, ranges, skipped files.
Read first: `view`, then `_scan_view`.
"""
