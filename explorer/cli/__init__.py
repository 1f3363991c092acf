"""The command line: `delta-explorer VERB URI [options]`."""
