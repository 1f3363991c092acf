"""Ways to damage the files of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.case import state_at_1, three_versions
from tests.tables import FEATURE_PROTOCOL, CheckpointForm, LogFolder

Damage = Callable[[Path], None]


def empty(place: Path) -> None:
    """Leave nothing of a file."""
    place.write_bytes(b"")


def cut(place: Path) -> None:
    """Leave the first half of a file."""
    data = place.read_bytes()
    place.write_bytes(data[: len(data) // 2])


def scribble(place: Path) -> None:
    """Zeroes over the pages of a Parquet file; its footer stays."""
    data = bytearray(place.read_bytes())
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[4:end] = bytes(end - 4)
    place.write_bytes(data)


def replace(place: Path) -> None:
    """Another kind of file under the name."""
    place.write_bytes(b"PAR1 this is no Parquet file PAR1")


def forget(place: Path) -> None:
    """The file is gone."""
    place.unlink()


DAMAGE = (empty, cut, scribble, replace, forget)


def damaged_checkpoint(
    root: Path,
    damage: Damage,
    *,
    form: CheckpointForm = "classic",
    sidecars: int = 0,
    hits_sidecar: bool = False,
) -> LogFolder:
    """Three versions and a checkpoint of version 1, one file of which is damaged."""
    log = three_versions(root, FEATURE_PROTOCOL)
    state = state_at_1(FEATURE_PROTOCOL)
    files = log.checkpoint(1, state, form=form, sidecars=sidecars)
    if hits_sidecar:
        files = sorted((log.log / "_sidecars").iterdir())
    damage(files[-1])
    return log
