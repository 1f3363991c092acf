"""How the files are called that an optimize writes (spec: Add File and Remove File).

Every name follows from the plan's seed, the group, and a word that each run makes up and
notes in the journal before it writes. So what a run that was killed has left is told from all
else, and two that carry out one plan, as on two machines, never write one file.
"""

from __future__ import annotations

from uuid import UUID, uuid5

import numpy as np
import pyarrow as pa

from explorer.log.actions.columns import string_column
from explorer.maintenance.optimize._groups import count_targets
from explorer.maintenance.plan.step_types import Aim
from explorer.pipeline.rewrite.write_files import GROUP, NUM_TARGETS, TARGET
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.table.snapshot import Snapshot
from explorer.writing.files.folders import folder_of


def named_files(snapshot: Snapshot, files: pa.Table, aim: Aim, seed: UUID, run: str) -> pa.Table:
    """The files of one commit as `explorer.pipeline.rewrite.rewrite` takes them: with the beginning
    of their group's new names, and how many files there will be."""
    groups = files.column("group").combine_chunks().to_numpy()
    numbers, firsts, places = np.unique(groups, return_index=True, return_inverse=True)
    values = files.column("partition_values").take(pa.array(firsts)).to_pylist()
    targets: list[str] = []
    for group, own in zip(numbers.tolist(), values, strict=True):
        unique = uuid5(seed, f"{group}/{run}")
        folder = folder_of(snapshot.protocol, snapshot.metadata, dict(own or ()), unique)
        targets.append(f"{folder}part-{group:05}-{unique}")
    counts = count_targets(files, aim)
    named = files.select([*FILE_COLUMNS, "num_records"])
    for name, column in (
        (GROUP, pa.array(groups.astype(np.int32))),
        (TARGET, string_column(targets).take(pa.array(places))),
        (NUM_TARGETS, pa.array(counts[places])),
    ):
        named = named.append_column(name, column)
    return named
