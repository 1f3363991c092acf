"""Delta Explorer itself as an engine: what its registry reads and its commits write."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from explorer.inspect.engine_support._cells import NO, YES
from explorer.inspect.engine_support._releases import Ability, Engine, Release
from explorer.protocol.features.registry import (
    FEATURES,
    READER_FEATURES_VERSION,
    WRITER_FEATURES_VERSION,
)
from explorer.transaction.rules.protocol_rules import WRITTEN_FEATURES

THIS_ENGINE = "delta-explorer"


def build_this_engine() -> Engine:
    """The release that is running. It knows names in every spelling of the registry."""
    reading = {name: YES if item.reads else NO for name, item in FEATURES.items()}
    writing = {name: YES if name in WRITTEN_FEATURES else NO for name in FEATURES}
    release = Release(
        version=_version(),
        released=None,
        read=Ability(
            features=reading,
            others=NO,
            max_version=READER_FEATURES_VERSION,
            any_spelling=True,
            evidence="proven",
        ),
        write=Ability(
            features=writing,
            others=NO,
            max_version=WRITER_FEATURES_VERSION,
            any_spelling=True,
            evidence="proven",
        ),
        source="the registry of this release",
        as_of=None,
        notes=("writes by maintenance only: it rewrites and removes files, and adds no new rows",),
    )
    return Engine(
        id=THIS_ENGINE, name="Delta Explorer (this one)", kind="library", releases=(release,)
    )


def _version() -> str | None:
    try:
        return version(THIS_ENGINE)
    except PackageNotFoundError:
        return None
