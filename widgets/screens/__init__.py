"""The screens, one folder each.

In a folder: `view` lays out, `parts` makes HTML of values, `ask` asks the engine. A name with an
underscore is used in its folder alone; the others are shared with another screen.
"""
