"""What `--json` prints: one document, or one per line for lists, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from explorer.answers.json_lines import render_documents, render_problems
from explorer.errors import Problem

_LINES_AT_ONCE = 10_000


def print_document(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output."""
    print_documents([document])


def print_documents(documents: Iterable[Mapping[str, Any]]) -> None:
    """JSON documents on standard output, one a line."""
    lines = render_documents(documents)
    while text := "".join(islice(lines, _LINES_AT_ONCE)):
        sys.stdout.write(text)


def print_problems(problems: Iterable[Problem]) -> None:
    """What is wrong with a table that still answers a list, on standard error,
    one document per line."""
    for line in render_problems(problems):
        sys.stderr.write(line)
