"""How the files are called that an optimize writes (spec: Add File and Remove File).

Every name follows from the plan's seed, the group, and a word that each run makes up and
notes in the journal before it writes. So what a run that was killed has left is told from all
else, and two that carry out one plan, as on two machines, never write one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID, uuid5

import numpy as np
import pyarrow as pa

from explorer.log.actions.columns import string_column
from explorer.maintenance.optimize._groups import count_targets
from explorer.maintenance.plan.step_types import Aim
from explorer.pipeline.rewrite.write_files import GROUP, NUM_TARGETS, TARGET
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.known_properties import RANDOM_PREFIX_LENGTH, RANDOMIZE_FILE_PREFIXES
from explorer.protocol.partition_values import render_partition_folder
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.table.snapshot import Snapshot

_LONGEST_NAME = 200
"""Bytes of a folder's name that every file system takes."""

_HIDDEN = "_."
"""What the name of a hidden folder begins with, to the specification and to Hadoop."""


def named_files(snapshot: Snapshot, files: pa.Table, aim: Aim, seed: UUID, run: str) -> pa.Table:
    """The files of one commit as `explorer.pipeline.rewrite.rewrite` takes them: with the beginning
    of their group's new names, and how many files there will be."""
    groups = files.column("group").combine_chunks().to_numpy()
    numbers, firsts, places = np.unique(groups, return_index=True, return_inverse=True)
    values = files.column("partition_values").take(pa.array(firsts)).to_pylist()
    targets: list[str] = []
    for group, own in zip(numbers.tolist(), values, strict=True):
        unique = uuid5(seed, f"{group}/{run}")
        targets.append(f"{_folder(snapshot, dict(own or ()), unique)}part-{group:05}-{unique}")
    counts = count_targets(files, aim)
    named = files.select([*FILE_COLUMNS, "num_records"])
    for name, column in (
        (GROUP, pa.array(groups.astype(np.int32))),
        (TARGET, string_column(targets).take(pa.array(places))),
        (NUM_TARGETS, pa.array(counts[places])),
    ):
        named = named.append_column(name, column)
    return named


def _folder(snapshot: Snapshot, values: Mapping[str, str | None], unique: UUID) -> str:
    """The folder of a group, with a slash behind it: as the reference names it by the
    partition, or at random where columns are mapped or the table asks for that, and where
    other engines would take the folder for a hidden one (spec: Data Files)."""
    configuration = snapshot.metadata.configuration
    names = snapshot.metadata.partition_columns
    mapped = column_mapping_mode(snapshot.protocol, configuration) != "none"
    if RANDOMIZE_FILE_PREFIXES.value_of(configuration) or (names and mapped):
        return _random(unique, RANDOM_PREFIX_LENGTH.value_of(configuration))
    folders = [render_partition_folder(name, values.get(name)) for name in names]
    if any(len(folder.encode()) > _LONGEST_NAME or folder[0] in _HIDDEN for folder in folders):
        return _random(unique, 2)
    return "".join(f"{folder}/" for folder in folders)


def _random(unique: UUID, length: int) -> str:
    return f"{unique.hex[-min(length, len(unique.hex)) :]}/"
