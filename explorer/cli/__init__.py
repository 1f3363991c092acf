"""The command line: `delta-explorer VERB URI [options]`.

In: arguments. Out: text for people or, with `--json`, documents. One module for each verb or group
of verbs, in rooms as `--help` groups them: `looking` at a table, its `versions`, its `files`, and
`changing` it. What several verbs take is in `arguments`, and what they print in `printing`.

Read first: `main`, then `verbs`.
"""
