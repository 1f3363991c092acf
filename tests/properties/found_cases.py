"""What mutated logs have found: each case with what was wrong, so that it stays right.

A case that is known by its seed is made anew as it was found, as long as the tables and the
mutations are the same. Where only the lines are known that mattered, they stand here, each
in a log that is otherwise sound. New findings are added to one of the two lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tests.properties.mutations import Kind
from tests.tables import Action, add


@dataclass(frozen=True, kw_only=True)
class FoundSeed:
    """A seed of `mutation_worker` that ended wrongly."""

    kind: Kind
    seed: int
    was_wrong: str


@dataclass(frozen=True, kw_only=True)
class FoundLines:
    """Actions that were read wrongly, in the second commit or at the end of a V2 checkpoint of
    the first; `ends` is the kind of the error or of the problem, None for a right answer."""

    name: str
    where: Literal["commit", "checkpoint"]
    actions: tuple[Action, ...]
    ends: str | None
    was_wrong: str


_NO_REMOVED = "The rule that the tests compare with asked a domain without `removed` for it."

SEEDS = (
    FoundSeed(kind="text", seed=105_576, was_wrong=_NO_REMOVED),
    FoundSeed(kind="text", seed=126_596, was_wrong=_NO_REMOVED),
    FoundSeed(kind="text", seed=127_474, was_wrong=_NO_REMOVED),
)


def _protocol(*features: Any) -> Action:
    numbers = {"minReaderVersion": 3, "minWriterVersion": 7}
    return {"protocol": {**numbers, "readerFeatures": [*features], "writerFeatures": [*features]}}


LINES = (
    FoundLines(
        name="path with a NUL",
        where="commit",
        actions=(add("a\0uab"),),
        ends="log_corrupt",
        was_wrong="The path passed for that of a file with a deletion vector, whose key has a "
        "NUL between the two.",
    ),
    *(
        FoundLines(
            name=f"sidecar that is {sidecar!r}",
            where="checkpoint",
            actions=({"sidecar": sidecar},),
            ends="checkpoint_unusable",
            was_wrong="The checkpoint was read without the files that the sidecar held.",
        )
        for sidecar in (5, "x", [], True, {})
    ),
    *(
        FoundLines(
            name=f"protocol with {name}",
            where="commit",
            actions=(_protocol(*features),),
            ends="unsupported_feature",
            was_wrong="The message of the refusal was as long as the log.",
        )
        for name, features in (
            ("a feature of a very long name", ["[" * 5000]),
            ("very many features", [f"feature{at}" for at in range(2000)]),
        )
    ),
    FoundLines(
        name="domain without removed",
        where="commit",
        actions=({"domainMetadata": {"domain": "d", "configuration": "{}"}},),
        ends=None,
        was_wrong=_NO_REMOVED,
    ),
)
