"""Which features a table has used, in any version that time travel still reaches (spec: Table
Features, Supported Features): those that came with the number of a version may be left out
where a protocol lists features by name, once it is certain that none of them was used."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from explorer.errors import DeltaError
from explorer.log.commits.commit_file import lines_reversed, may_name, parse_action
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.protocol.actions import Metadata, parse_metadata
from explorer.protocol.features.column_mapping import FIELD_ID_KEY
from explorer.protocol.features.registry import FEATURES
from explorer.protocol.features.table_feature import TableFacts
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.protocol.schema import parse_schema
from explorer.protocol.schema_walk import walk_fields
from explorer.protocol.table_properties.known_properties import COLUMN_MAPPING_MODE


def unused_features(context: PlanningContext, names: Collection[str]) -> frozenset[str]:
    """Those of `names`, which the protocol has by its number, that certainly no version used
    that can be read; none of them where a file that would tell cannot be read."""
    left = set(names)
    try:
        for metadata in every_metadata(context):
            left -= {name for name in left if _uses(metadata, name)}
            if not left:
                break
    except DeltaError:
        return frozenset()
    return frozenset(left)


def every_metadata(context: PlanningContext) -> Iterator[Metadata]:
    """The metadata of every version: what is in force now, what commits brought, and what was
    in force where the commits before a checkpoint are gone."""
    yield context.snapshot.metadata
    commits = context.listing.commits
    first = commits[0] if commits else context.snapshot.version + 1
    for checkpoint in context.listing.checkpoints if first else ():
        yield context.table.metadata(version=checkpoint.version)
        if checkpoint.version >= first:
            break  # what later ones hold, commits brought
    reads = context.log_store.read_many(map(render_commit_path, commits))
    for done, (version, data) in enumerate(zip(commits, reads, strict=True)):
        context.watch.step(done, len(commits), "Reading which features the table ever used")
        if may_name(data, "metaData"):
            yield from _metadata_of(render_commit_name(version), data)


def _metadata_of(name: str, data: bytes) -> Iterator[Metadata]:
    for number, line in lines_reversed(data):
        if may_name(line, "metaData"):
            body = parse_action(line, name, number).get("metaData")
            if body is not None:
                yield parse_metadata(body, f"{name}:{number}")


def _uses(metadata: Metadata, name: str) -> bool:
    """Whether a version with this metadata used the feature, or may have."""
    schema = parse_schema(metadata.schema_string)
    facts = TableFacts(metadata=metadata, schema=schema)
    if FEATURES[name].is_active(facts):
        return True
    if name == "invariants":  # the reference counts columns that may not be null
        return any(not place.field.nullable for place in walk_fields(schema))
    if name == "columnMapping":  # whatever the protocol made of it then
        is_set = COLUMN_MAPPING_MODE.text_in(metadata.configuration) not in {None, "none"}
        return is_set or any(FIELD_ID_KEY in place.field.metadata for place in walk_fields(schema))
    return False
