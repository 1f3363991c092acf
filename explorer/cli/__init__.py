"""The command line: `delta-explorer VERB URI [options]`.

In: arguments. Out: text for people or, with `--json`, documents. One module for each verb.

Read first: `main`, then `verbs`.
"""
