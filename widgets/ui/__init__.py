"""What every screen is made of: one view for each question, and pieces of HTML.

In: values. Out: HTML or components of Panel; what a person clicks comes back as an event.

Read first: `view`, then `live_html` and `table`.
"""
