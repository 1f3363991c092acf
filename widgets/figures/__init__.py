"""Figures, without Panel.

In: a frame of commits, and a filter. Out: commits as columns, those of them that are shown, and
the Bokeh figure of them with what happened to the table as marks.

Read first: `commits`, then `timeline`.
"""
