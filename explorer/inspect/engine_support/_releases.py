"""Engines, their releases, and what each release can do, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from explorer.inspect.engine_support._cells import UNKNOWN, Evidence, Support
from explorer.protocol.features.registry import find_feature

ANOTHER_SPELLING: Final = Support(verdict="unknown", text="listed under another spelling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What a release can do in one direction: read, or write.

    `features` is what is known of single ones, `others` counts for the rest: a no where the
    source has a whole list, else unknown. `by_name` is about versions that list features by
    name at all. `never` says why the engine does not go in this direction with any table.
    With `any_spelling` it knows features under their older names too; with `names_only` its
    list counts for what a protocol names, not for what a version number stands for.
    """

    features: Mapping[str, Support] = field(default_factory=dict)
    others: Support = UNKNOWN
    max_version: int | None = None
    by_name: Support | None = None
    never: str | None = None
    any_spelling: bool = False
    names_only: bool = False
    evidence: Evidence = "unknown"

    def of(self, name: str) -> Support:
        """What it does with a feature that a protocol lists as `name`; engines compare names
        letter by letter, unless something else is known of them."""
        entry = find_feature(name)
        if entry is None:  # a source may have other words under the same name
            return self.others
        if name in self.features or entry.name == name:
            return self.features.get(name, self.others)
        known = self.features.get(entry.name, self.others)
        if self.any_spelling or known.verdict == "no":
            return known
        return ANOTHER_SPELLING

    @property
    def plain(self) -> Support:
        """What it does with a table without any feature: whoever knows one, or a version,
        knows that too."""
        known = self.max_version is not None or self.others.verdict == "no"
        does = {"yes", "conditional"}
        if known or any(item.verdict in does for item in self.features.values()):
            return Support(verdict="yes")
        return UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release of an engine; `version` is None where the sources describe the engine as
    it was at `as_of`."""

    version: str | None
    released: str | None
    read: Ability
    write: Ability
    source: str | None
    as_of: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine with at least one release, the newest last."""

    id: str
    name: str
    kind: str
    releases: tuple[Release, ...]
