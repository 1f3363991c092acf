"""Logs of known size, and a runner that measures us and a peer on them side by side."""
