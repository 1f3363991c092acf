"""The verb `inspect`, which scripts run for many tables: it imports no more than it needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import typer

from explorer.cli.answering import ask, print_answer
from explorer.cli.arguments.options import AsJson, StorageOptions, Timestamp, Uri, Version
from explorer.cli.printing.description_listing import list_description
from explorer.cli.printing.failures import EXIT_PROBLEM, report_as_json, report_as_text


def inspect(
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Version, protocol, features, files, rows and problems.

    Where the newest version cannot be read, the newest that can be is shown below the error, and
    the exit code is 1.

    Example: delta-explorer inspect s3://bucket/orders --version 12 --option anon=true
    """
    given = {"version": version, "timestamp": timestamp}
    question, document = ask("inspect", (uri, option), given)
    # a script must not take an older version for the newest one
    is_older = document["unreadable_version"] is not None
    if is_older:
        _report_unreadable(document, as_json=as_json)
    if as_json:
        print_answer(question, document)
    else:
        told = document["problems"][1:] if is_older else document["problems"]
        list_description(sys.stdout, {**document, "problems": told})
    if is_older:
        raise typer.Exit(EXIT_PROBLEM)


def _report_unreadable(document: Mapping[str, Any], *, as_json: bool) -> None:
    """Why the newest version is not the one that is shown, on standard error."""
    error = {key: text for key, text in document["problems"][0].items() if key != "place"}
    report = report_as_json if as_json else report_as_text
    report(error)
