"""Figures: a frame in, a Bokeh figure out; no Panel."""
