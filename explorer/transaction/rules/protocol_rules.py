"""What may be written at all, and how a protocol may change (spec: Protocol Evolution,
Table Features, Delta Log Entries)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Final

from explorer.errors import Problem
from explorer.protocol.actions import DomainMetadata, Metadata, Protocol, Transaction
from explorer.protocol.commit_json import render_action
from explorer.protocol.features.consistency import validate_protocol
from explorer.protocol.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
    entry_name,
    half_listed_features,
    is_catalog_managed,
    supported_features,
)
from explorer.protocol.features.table_feature import TableFacts, TableFeature
from explorer.protocol.file_actions import AddCDCFile, AddFile, RemoveFile
from explorer.table.counts import have
from explorer.transaction.rules.change import (
    REPORT,
    Change,
    Described,
    Problems,
    problem,
    shown,
)
from explorer.transaction.staged_files import numbers_beyond

WRITTEN_FEATURES: Final = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "checkpointProtection",
        "clustering",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "icebergCompatV1",
        "icebergCompatV2",
        "identityColumns",
        "inCommitTimestamp",
        "invariants",
        "materializePartitionColumns",
        "rowTracking",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
"""The features whose rules for writers are all known here; every other refuses a commit."""

ADD_THE_FEATURE: Final = "Add the feature to the protocol in the same commit, or before it."
"""What a commit is told that lacks a feature; who knows the table's own way to it says that."""

_PREVIEWS: Final = ("-preview", "-dev")


def validate_writable(change: Change) -> Problems:
    """Whether a table with this protocol may be written here at all, before and after."""
    protocols = [change.after.protocol]
    if change.before is not None and change.before.protocol != change.after.protocol:
        protocols.append(change.before.protocol)
    found: dict[Problem, None] = {}
    for protocol in protocols:
        found.update(dict.fromkeys(_unwritable(protocol)))
    yield from found
    # the one before may be so: the commit that lists the features is what mends it
    halves = half_listed_features(change.after.protocol)
    if halves and _writes_content(change):
        yield problem(
            f"One of the protocol's two lists alone has {shown([half.name for half in halves])}.",
            "Clients that go by the other list would read what is written without its rules.",
            spec="Table Features",
            remedy="Run `upgrade --writer-version 7` first, which lists it wherever it belongs.",
        )


def _writes_content(change: Change) -> bool:
    """Whether there is anything in the commit that clients could misread: the commits before
    which a checkpoint is written to drop a feature hold none. Who read files brings some, also
    where a plan asks before it knows them."""
    before = change.before
    return (
        before is None
        or change.staged.reads.paths is not None
        or before.metadata != change.after.metadata
        or change.adds.num_rows + change.removes.num_rows > 0
    )


def _unwritable(protocol: Protocol) -> Problems:
    if is_catalog_managed(protocol):
        yield problem(
            "A catalog decides which commits of this table count.",
            "A commit without the catalog would not be seen, or overwrite one of its own.",
            spec="Catalog-managed tables",
            remedy="Write it through its catalog.",
            kind="catalog_managed",
        )
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader > READER_FEATURES_VERSION or writer > WRITER_FEATURES_VERSION:
        yield problem(
            f"The protocol ({reader}, {writer}) is newer than this writer.",
            "What it asks of writers is not known here.",
            spec="Writer Version Requirements",
            remedy="Write the table with a newer release, or with the engine that raised it.",
        )
    unknown = [name for name in supported_features(protocol) if name not in _ALLOWED]
    if unknown:
        yield problem(
            f"The table has features that cannot be written here: {shown(unknown)}.",
            "A writer must keep the rules of every feature that the protocol lists.",
            spec="Table Features",
            remedy="Write the table with an engine that knows them all.",
        )


# those that a catalog decides about are told apart
_ALLOWED: Final = WRITTEN_FEATURES | {"catalogManaged", "catalogOwned-preview"}


def validate_actions(change: Change) -> Problems:
    """What one commit may hold once: no two of its actions may reconcile with each other."""
    staged = change.staged
    names: list[tuple[str, Hashable]] = [
        *(("protocol action", None) for _ in staged.of(Protocol)),
        *(("metaData action", None) for _ in staged.of(Metadata)),
        *((f"txn of `{item.app_id[:60]}`", item.app_id) for item in staged.of(Transaction)),
        *(
            (f"domainMetadata of `{item.domain[:60]}`", item.domain)
            for item in staged.of(DomainMetadata)
        ),
    ]
    for (name, _), count in Counter(names).items():
        if count > 1:
            yield problem(
                f"The commit has a {name} {count} times.",
                "Readers could not tell which of them counts.",
                spec="Delta Log Entries",
                remedy=REPORT,
            )


def validate_numbers(change: Change) -> Problems:
    """A whole number is a long, an offset or size of a vector an integer: one beyond that can
    be read by nobody, and then the whole version cannot. Columns hold no others."""
    counts: Counter[str] = Counter()
    for action in change.staged.actions:
        if isinstance(action, AddFile | RemoveFile | AddCDCFile | Transaction):
            ((name, body),) = render_action(action).items()
            counts.update(f"{name}.{field}" for field in numbers_beyond(body))
    for field, count in counts.items():
        yield problem(
            f"{have(count, 'action')} a number in `{field}` that its type cannot hold.",
            "No reader could parse the commit, or any version after it.",
            spec="Actions",
            remedy=REPORT,
            kind="log_corrupt",
        )


def validate_protocol_change(change: Change) -> Problems:
    """A protocol that is written follows the rules of its lists, and takes nothing back."""
    if not change.changes_protocol:
        return
    yield from validate_protocol(change.after.protocol)
    if change.before is None:
        return
    before, after = change.before.protocol, change.after.protocol
    dropped = change.staged.promises.dropped_features
    kept = {entry_name(name) for name in supported_features(after)}
    lost = [
        name
        for name in supported_features(before)
        if entry_name(name) not in kept and entry_name(name) not in dropped
    ]
    if lost:
        yield problem(
            f"The new protocol no longer has {shown(lost)}.",
            "Versions that can still be read may use them, and readers go by the newest protocol.",
            spec="Table Features",
            remedy="Drop a feature with drop-feature, which first removes every trace of it.",
        )
    lower = (
        after.min_reader_version < before.min_reader_version
        or after.min_writer_version < before.min_writer_version
    )
    if lower and not dropped:
        yield problem(
            "The new protocol is lower than the one in force.",
            "Clients that the old one keeps away would come back and break its rules.",
            spec="Protocol Evolution",
            remedy="Drop the features that ask for it with drop-feature.",
        )


def validate_supported_use(change: Change) -> Problems:
    """What this commit begins to use must be supported by its protocol: a property or a
    column without its feature means nothing to others, and rows would go unchecked. The
    reference does not open a table whose protocol lists features and lacks one of them."""
    if not (change.changes_metadata or change.changes_protocol or change.creates):
        return
    lists = _begins_to_list(change)
    before = () if change.before is None or lists else lacking_features(change.before)
    known = {item.name for item in before}
    does = "The table asks for" if lists else "The commit begins to use"
    for item in lacking_features(change.after):
        if item.name not in known:
            yield problem(
                f"{does} `{item.name}`, which its protocol does not support.",
                "A property or a column that asks for a feature has no effect without it.",
                spec=item.spec,
                remedy=ADD_THE_FEATURE,
            )


def lacking_features(described: Described) -> tuple[TableFeature, ...]:
    """The features that a table uses, or is to have, and that its protocol does not support."""
    found: dict[str, TableFeature] = {}
    for item in FEATURES.values():  # previews come last
        if not _is_supported(described, item) and _uses(described, item):
            found.setdefault(_stem(item.name), item)
    return tuple(found.values())


def _begins_to_list(change: Change) -> bool:
    """Whether the protocol lists features from this commit on: then all counts that is there."""
    before = change.before
    return before is not None and (
        change.after.protocol.writer_features is not None
        and before.protocol.writer_features is None
    )


def _uses(described: Described, item: TableFeature) -> bool:
    # columns of a type that nothing here writes are told by the rule of types
    schema = described.schema if item.name in WRITTEN_FEATURES else None
    facts = TableFacts(metadata=described.metadata, schema=schema)
    return item.is_asked_for(facts)


def _is_supported(described: Described, item: TableFeature) -> bool:
    """Under its own name or that of its preview."""
    names = {_stem(name) for name in supported_features(described.protocol)}
    return _stem(item.name) in names


def _stem(name: str) -> str:
    for ending in _PREVIEWS:
        name = name.removesuffix(ending)
    return name
