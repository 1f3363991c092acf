"""From a listing of the log to the reconciled state of one version."""
