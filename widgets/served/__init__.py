"""What makes a page one that is served to others: sign-in, headers, health.

In: settings. Out: a server with its routes, ready to start.

Read first: `settings`, then `assembly`.
"""
