"""What verbs take: arguments and options that several of them share, and how their text is read.

In: the text of a command line. Out: places, pairs, times, and plans that are carried out.

Read first: `options`, then `maintenance_options` for verbs that maintain a table and
`writing_options` for those that write rows.
"""
