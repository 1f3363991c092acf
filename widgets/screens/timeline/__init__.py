"""The commit timeline.

In: the history, window by window. Out: the plot, its ranges, the selected commit.
Read first: `view`.
"""
