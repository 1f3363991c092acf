"""Figures, without Panel.

In: commits as columns (`commits`), which of them are shown (`filters`), and what is marked
(`marks`). Out: a Bokeh figure; what a person does to it comes back as an event.

Read first: `timeline`.
"""
