"""The command line: `delta-explorer VERB URI [options]`.

In: arguments. Out: text for people or, with `--json`, documents. One module for each verb; what
several of them take is in `arguments`, and what they print in `printing`.

Read first: `main`, then `verbs`.
"""
