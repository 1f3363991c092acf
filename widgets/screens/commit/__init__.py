"""One commit: beside the timeline, and alone at an address of its own.

In: the selected version. Out: what the commit did in a sentence, its rows, its files, who can
still use the table, the way back, and its actions as the log has them. Read first: `view`.
"""
