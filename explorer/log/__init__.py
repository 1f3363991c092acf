"""From a listing of the log to the reconciled state of one version.

In: a store and a version. Out: the protocol, the metadata and the files of that version, and
the log files that a writer adds. The way: `folder` (which log files), `commits` and `checkpoint`
(reading them), `reconcile` (the rule), `state` (the result); then `checkpoint_content` and
`checkpoint_writing` for the way back. `actions` and `statistics` hold the columns that all use.

Read first: `load`.
"""
