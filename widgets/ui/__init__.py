"""Pieces that every screen is made of: escaped HTML, tables, pages, pending answers, exports.

In: values. Out: HTML or components of Panel; what a person clicks comes back as an event.

Read first: `live_html`, then `table` and `pending`.
"""
