"""From a listing of the log to the reconciled state of one version.

In: a store and a version. Out: the protocol, the metadata and the files of that version. Data
flows through `folder` (which log files), `commits` and `checkpoint` (reading them), `reconcile`
(action reconciliation) and `state` (the result); `checkpoint_content` and `checkpoint_writing`
write log files. `actions` and `statistics` have the columns that all of them use.

Read first: `load`.
"""
