"""What a reader or writer of the table must know: protocol, features, properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from explorer.errors import Problem
from explorer.protocol.actions import Metadata, Protocol
from widgets.markup import NOTHING, Markup, html
from widgets.screens.engines.ask import EngineAnswer, read_engines
from widgets.session.asking import attempt_fact
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import PageState
from widgets.text import UNKNOWN, cut, format_count, format_many, format_time
from widgets.ui.boxes import build_card, build_filled_card, build_stack
from widgets.ui.paging import Pages
from widgets.ui.pieces import (
    render_chips,
    render_definitions,
    render_problem,
    render_section,
)
from widgets.ui.records import read_records
from widgets.ui.table import Cell, Column, Row, render_table
from widgets.ui.view import AtVersion, Pane, Request, View, Words, at_version

FEATURE_COLUMNS = (
    Column(key="name", label="Feature"),
    Column(key="state", label="State"),
    Column(key="since", label="Supported since"),
    Column(key="active_since", label="Active since"),
    Column(key="by", label="By"),
    Column(key="kind", label="Needed by", wide=True),
    Column(key="description", label="What it is", wide=True, wraps=True),
)
_DASH = "\N{EN DASH}"
LISTED = 200
"""Transactions and domains that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What is asked for; a problem stands where a fact cannot be had."""

    protocol: Protocol | Problem
    metadata: Metadata | Problem
    transactions: pa.Table | Problem
    domains: pa.Table | Problem


class ProtocolView:
    """Facts by version; the history of features follows when it is read."""

    def __init__(self, services: PageServices, state: PageState) -> None:
        protocol, settings = Pane(_render_protocol, head=_render_head), Pane(_render_settings)
        engines = Pane(_render_engines, head=_ENGINES_HEAD)
        features = Pane(_render_features, head=_FEATURES_HEAD)
        self._views = (
            View(services, state, "protocol", _FACTS, protocol, settings),
            View(services, state, "protocol", _ENGINES, engines),
            View(services, state, "protocol", _FEATURES, features),
        )
        self.panel = build_stack(
            build_card(protocol.live, engines.live), build_card(features.live),
            build_filled_card(settings.live),
        )  # fmt: skip
        engines.live.on("engines", lambda _: state.param.update(view="engines"))

    def show(self, service: TableService) -> None:
        """A table has been opened."""
        for view in self._views:
            view.show(service)


_ENGINES_HEAD = html("<h4>Who can read and write it</h4>")
_FEATURES_HEAD = html("<h3>Table features</h3>")


def _read_facts(asked: AtVersion, *_: object) -> _Facts:
    service, version = asked.service, asked.version
    return _Facts(
        protocol=attempt_fact(lambda: service.read_protocol(version)),
        metadata=attempt_fact(lambda: service.read_metadata(version)),
        transactions=attempt_fact(lambda: service.read_transactions(version)),
        domains=attempt_fact(lambda: service.read_domains(version)),
    )


def _render_settings(_: AtVersion, facts: _Facts, __: Pages) -> Markup:
    return html(
        "{}{}{}",
        _render_properties(facts.metadata),
        _render_transactions(facts.transactions),
        _render_domains(facts.domains),
    )


def _render_head(asked: AtVersion, _: _Facts | None) -> Markup:
    return html("<h3>Features and protocol of version {}</h3>", format_count(asked.version))


def _render_protocol(_: AtVersion, facts: _Facts, __: Pages) -> Markup:
    if isinstance(facts.protocol, Problem):
        return render_problem(facts.protocol)
    protocol = facts.protocol
    names = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    sentence = (
        f"Readers need version {protocol.min_reader_version}, writers version "
        f"{protocol.min_writer_version}"
    )
    sentence += (
        f", and {len(names)} named feature{'s' if len(names) != 1 else ''}." if names else "."
    )
    chips = render_chips([cut(name, 60) for name in names]) if names else NOTHING
    return html('<p class="dx-lead">{}</p>{}{}', sentence, chips, _render_identity(facts.metadata))


def _render_engines(_: AtVersion, answer: EngineAnswer, __: Pages) -> Markup:
    return html(
        "<p>{}</p>"
        '<div class="dx-buttons"><button type="button" class="dx-outlined" data-do="engines" '
        'data-value="">Every engine</button></div>',
        cut(answer.sentence, 600),
    )


def _render_identity(metadata: Metadata | Problem) -> Markup:
    if isinstance(metadata, Problem):
        return render_problem(metadata)
    pairs = [
        ("Table id", cut(metadata.id, 200)),
        ("Name", cut(metadata.name or "none", 200)),
        ("Description", cut(metadata.description or "none", 2000)),
        ("Created", format_time(metadata.created_time)),
        ("Partitioned by", cut(", ".join(metadata.partition_columns) or "nothing", 500)),
        ("Format", cut(metadata.format_provider, 60)),
    ]
    return render_section("Metadata", render_definitions(pairs, code=("Table id",)))


def _render_features(_: AtVersion, frame: pa.Table, __: Pages) -> Markup:
    entries = read_records(frame)
    supported = [entry for entry in entries if entry["supported"]]
    asked = [entry for entry in entries if not entry["supported"] and entry["note"]]
    active = sum(1 for entry in supported if entry["active"])
    unknown = sum(1 for entry in supported if not entry["known"])
    lead = f"{len(supported)} supported, {active} of them active."
    if unknown:
        of_them = "one" if unknown == 1 else f"{unknown}"
        lead += f" Of {of_them} this release does not know what it means."
    if asked:
        lead += f" {format_many(len(asked), 'more feature')} "
        lead += f"{'is' if len(asked) == 1 else 'are'} asked for and not supported."
    rows = [_feature_row(entry) for entry in (*supported, *asked)]
    rest = [entry for entry in entries if not entry["supported"] and not entry["note"]]
    table = render_table(
        "Supported table features", FEATURE_COLUMNS, rows, empty="The table needs no feature."
    )
    others = NOTHING
    if rest:
        names = ", ".join(str(entry["name"]) for entry in rest)
        others = html(
            "<details><summary>{} known features are not supported by this table"
            "</summary><div>{}</div></details>",
            len(rest),
            names,
        )
    return html('<p class="dx-lead">{}</p>{}{}', lead, table, others)


def _feature_row(entry: Mapping[str, Any]) -> Row:
    by = _who(entry, "supported")
    described = str(entry["description"] or "")
    return Row(
        cells=(
            Cell(text=cut(str(entry["name"]), 80), title=cut(str(entry["name"]), 300)),
            Cell(text=_state(entry), muted=not entry["active"]),
            _since(entry, "supported", is_so=bool(entry["supported"])),
            _since(entry, "active", is_so=bool(entry["active"])),
            Cell(
                text=cut(" \N{MIDDLE DOT} ".join(by), 44) or UNKNOWN,
                title=cut(", ".join(by), 300),
                muted=not by,
            ),
            Cell(text=str(entry["kind"])),
            Cell(text=described),
        )
    )


def _state(entry: Mapping[str, Any]) -> str:
    note = f": {entry['note']}" if entry["note"] else ""
    if not entry["known"]:
        return "unknown to this release"
    if not entry["supported"]:
        return f"not supported{note}"
    if entry["active"] is None:
        return f"supported, active or not is unknown{note}"
    return "active" if entry["active"] else f"supported, not active{note}"


def _who(entry: Mapping[str, Any], state: str) -> list[str]:
    keys = (f"{state}_by_{who}" for who in ("operation", "user", "engine"))
    return [str(entry[key]) for key in keys if entry.get(key)]


def _since(entry: Mapping[str, Any], state: str, *, is_so: bool) -> Cell:
    """Since when a feature is supported or active; a hover says where that stands."""
    if not is_so:
        return Cell(text=_DASH, muted=True)
    version, place = entry[f"{state}_since"], entry[f"{state}_log_file"]
    if version is None:
        return Cell(text=UNKNOWN, muted=True)
    evidence = f"{place}, line {entry[f'{state}_line']}" if place else "not found in a commit"
    by = ", ".join(_who(entry, state))
    text = f"version {format_count(version)}"
    if not entry[f"{state}_since_exact"]:
        text = f"before {text}, the log is gone"
    return Cell(text=text, title=cut(f"{evidence}: {by}" if by else evidence, 400))


def _render_properties(metadata: Metadata | Problem) -> Markup:
    head = html("<h3>Properties</h3>")
    if isinstance(metadata, Problem):
        return head + render_problem(metadata)
    columns = (
        Column(key="name", label="Property", mono=True),
        Column(key="value", label="Value", mono=True),
    )
    rows = [
        Row(cells=(Cell(text=cut(name, 120), title=cut(name, 500)),
                   Cell(text=cut(value, 160), title=cut(value, 2000))))
        for name, value in sorted(metadata.configuration.items())
    ]  # fmt: skip
    return head + render_table("Table properties", columns, rows, empty="No property is set.")


def _render_transactions(frame: pa.Table | Problem) -> Markup:
    title = "Application transactions"
    if isinstance(frame, Problem):
        return render_section(title, _render_missing(frame))
    columns = (
        Column(key="app", label="Application", mono=True),
        Column(key="version", label="Version", align="right"),
        Column(key="updated", label="Last updated"),
    )
    rows = [
        Row(cells=(Cell(text=cut(str(entry["app_id"]), 120)),
                   Cell(text=format_count(entry["version"])),
                   Cell(text=format_time(entry["last_updated"]))))
        for entry in read_records(frame.slice(0, LISTED))
    ]  # fmt: skip
    return render_section(title, render_table(title, columns, rows, empty="None is recorded."))


def _render_domains(frame: pa.Table | Problem) -> Markup:
    title = "Metadata domains"
    if isinstance(frame, Problem):
        return render_section(title, _render_missing(frame))
    columns = (
        Column(key="domain", label="Domain", mono=True),
        Column(key="configuration", label="Configuration", mono=True),
    )
    rows = [
        Row(cells=(Cell(text=cut(str(entry["domain"]), 120)),
                   Cell(text=cut(str(entry["configuration"]), 200),
                        title=cut(str(entry["configuration"]), 2000))))
        for entry in read_records(frame.slice(0, LISTED))
    ]  # fmt: skip
    return render_section(title, render_table(title, columns, rows, empty="None is in force."))


def _render_missing(problem: Problem) -> Markup:
    return html('<p class="dx-muted">Not readable: {}</p>', cut(problem.problem, 300))


_FACTS: Request[AtVersion, _Facts] = Request(
    question=at_version,
    read=_read_facts,
    words=lambda asked: Words(
        label=f"Reading version {format_count(asked.version)}",
        stopped="Stopped before the protocol was read.",
        again="Read the protocol",
    ),
)
_ENGINES: Request[AtVersion, EngineAnswer] = Request(
    question=at_version,
    read=lambda asked, _, __: read_engines(asked.service, asked.version),
    words=Words(
        label="Asking what each engine is known to do",
        stopped="Stopped before every engine was asked about.",
        again="Ask about every engine",
    ),
    failed=lambda _: NOTHING,  # the facts above say what is wrong
)
_FEATURES: Request[AtVersion, pa.Table] = Request(
    question=at_version,
    read=lambda asked, _, __: asked.service.read_features(asked.version),
    words=Words(
        label="Looking through the log for the commit that brought each feature",
        stopped="Stopped before the log was read.",
        again="Look through the log",
    ),
)
