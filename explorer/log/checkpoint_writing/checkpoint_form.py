"""Which kind of checkpoint a table gets (spec: Checkpoint Specs, Checkpoint Naming Scheme)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.registry import is_supported
from explorer.protocol.table_properties.known_properties import CHECKPOINT_POLICY

V2_FEATURE: Final = "v2Checkpoint"

FEW_ACTIONS: Final = 10_000
"""Up to so many file actions a V2 checkpoint is one file: a sidecar would cost a request more."""

ACTIONS_PER_SIDECAR: Final = 200_000
"""Large enough that a table of a million files has five, small enough to be read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointForm:
    """One file under the classic name with V1 content, or a V2 checkpoint named by a UUID.

    A V2 one has its file actions in sidecars of at most `actions_per_sidecar`, or in its
    top level where that is None; a top level of JSON always has sidecars. There are no
    checkpoints in parts: they are deprecated, and forbidden where V2 is supported.
    """

    kind: Literal["classic", "v2"]
    top_level: Literal["parquet", "json"] = "parquet"
    actions_per_sidecar: int | None = None

    def __post_init__(self) -> None:
        if self.kind == "classic" and (self.top_level, self.actions_per_sidecar) != (
            "parquet",
            None,
        ):
            raise AssertionError("a classic checkpoint is one Parquet file")
        if self.top_level == "json" and self.actions_per_sidecar is None:
            raise AssertionError("a JSON top level has its files in sidecars")
        if self.actions_per_sidecar is not None and self.actions_per_sidecar < 1:
            raise AssertionError("a sidecar holds at least one action")


CLASSIC: Final = CheckpointForm(kind="classic")


def choose_form(protocol: Protocol, metadata: Metadata, num_actions: int) -> CheckpointForm:
    """The form for a table with `num_actions` file actions: V2 where the feature is supported
    and the table asks for it (`delta.checkpointPolicy`), or says nothing and is large; else
    classic. Several sidecars are written and read side by side, and the next checkpoint need
    not be one huge file again."""
    if not depends_on_size(protocol, metadata):
        return CLASSIC
    if num_actions <= FEW_ACTIONS and _policy(metadata) == "v2":
        return CheckpointForm(kind="v2")
    if num_actions <= ACTIONS_PER_SIDECAR and _policy(metadata) != "v2":
        return CLASSIC
    return CheckpointForm(kind="v2", top_level="json", actions_per_sidecar=ACTIONS_PER_SIDECAR)


def depends_on_size(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether the number of file actions has a say in the form at all."""
    return is_supported(protocol, V2_FEATURE) and _policy(metadata) in {"v2", None}


def _policy(metadata: Metadata) -> str | None:
    """What the table asks for; None where it says nothing."""
    if CHECKPOINT_POLICY.name not in metadata.configuration:
        return None
    return CHECKPOINT_POLICY.value_of(metadata.configuration)


def check_form(form: CheckpointForm, protocol: Protocol) -> None:
    """Raise `UnsupportedError` for a V2 checkpoint where the feature is not supported."""
    if form.kind == "v2" and not is_supported(protocol, V2_FEATURE):
        raise UnsupportedError(
            "A V2 checkpoint of this table cannot be written.",
            reason=f"Its protocol does not have the feature {V2_FEATURE}: other readers would "
            "not find the checkpoint.",
            remedy="Write a classic checkpoint, or enable the feature first.",
            spec="V2 Checkpoint Table Feature",
        )


def no_commit(version: int) -> InvalidArgumentError:
    """The error for a version that is not committed."""
    return InvalidArgumentError(
        f"Version {version} cannot be checkpointed.",
        reason="A checkpoint may only follow its commit, and there is no such commit.",
        remedy="Choose a version whose commit is in the log.",
        spec="Checkpoints",
    )
