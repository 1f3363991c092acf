"""Figures, without Panel.

In: a frame. Out: a Bokeh figure.

Read first: `timeline`.
"""
