"""Every displayed fact by name: how it is asked, and its JSON document.

In: the name of a fact, and values for its parameters. Out: the fact of a table, and its documents
as lines of JSON. The record of a fact lies beside it, in a room of `explorer.inspect`; here are
those of facts that a lower floor finds.

Read first: `registry`, then `explorer.inspect.answer`.
"""
