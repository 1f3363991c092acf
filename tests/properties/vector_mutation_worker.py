"""Reads mutated deletion vectors, one after the other, and says of each how it ended.

A process of its own, so that a crash of native code, a hang or a flood of memory
is seen from outside:

    python -m tests.properties.vector_mutation_worker KIND FIRST COUNT
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import traceback
import zlib
from itertools import islice
from pathlib import Path

from pyroaring import BitMap64

from explorer.errors import ERROR_KINDS, DeltaError
from explorer.protocol.vectors.deletion_vectors import deletion_mask, hidden_runs, live_mask
from explorer.rows.data_file.deletion_vectors import read_deletion_vector
from explorer.storage.local import LocalStore
from tests.conftest import CORPUS
from tests.properties.vector_mutations import Kind, Mutant, Source, fits, mutate, sources

_CEILING = 4 * 2**30
_PEAK_BYTES = 2**30
_WINDOW = 200_000
_MANY = 1000


def main(kind: Kind, first: int, count: int) -> None:
    """A line before each case, and one with what went wrong; `done` at the end."""
    resource.setrlimit(resource.RLIMIT_AS, (_CEILING, _CEILING))
    found = sources(CORPUS)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, first + count):
            sys.stdout.write(f"{seed}\n")
            sys.stdout.flush()
            wrong = run_case(kind, seed, found, Path(scratch))
            if wrong:
                sys.stdout.write(f"wrong {kind} {seed}: {wrong!r}\n")
    peak = _peak()
    if peak > _PEAK_BYTES:
        sys.stdout.write(f"wrong {kind}: took {peak / 2**20:.0f} MiB\n")
    sys.stdout.write("done\n")


def _peak() -> int:
    """Not from `getrusage`: what that says begins with the memory of the parent."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def run_case(kind: Kind, seed: int, found: list[Source], scratch: Path) -> str | None:
    """What went wrong, None where all is well."""
    dice = random.Random(f"{kind} {seed}")
    source = dice.choice([one for one in found if fits(one, kind)])
    mutant = mutate(source, kind, dice)
    try:
        _judge(source, mutant, scratch)
    except AssertionError as error:
        return f"{mutant.how}: {error}"
    except Exception:  # noqa: BLE001  # every other exception is what this looks for
        return f"{mutant.how}: {traceback.format_exc(limit=-4)}"
    return None


def _judge(source: Source, mutant: Mutant, scratch: Path) -> None:
    wanted = _read(source.data, source, scratch)
    _write(mutant.data, source, scratch)
    try:
        vector = read_deletion_vector(LocalStore(str(scratch)), mutant.descriptor)
    except DeltaError as error:
        _assert_clear(error)
        return
    assert len(vector) == mutant.descriptor.cardinality
    assert vector == wanted or _vouched_for(mutant), "another answer, and nothing vouches for it"
    _assert_consistent(vector)


def _assert_clear(error: DeltaError) -> None:
    assert error.kind in ERROR_KINDS, error.kind
    assert all((error.problem, error.reason, error.remedy)), error.as_dict()
    assert len(str(error)) < 2000, f"{len(str(error))} characters of error"


def _vouched_for(mutant: Mutant) -> bool:
    """Whether another vector is what the bytes say: no checksum is known for one in the
    log, and that of a file must fit."""
    if mutant.descriptor.storage_type == "i" or mutant.data is None:
        return True
    start = mutant.descriptor.offset or 1
    end = start + 4 + mutant.descriptor.size_in_bytes
    content, checksum = mutant.data[start + 4 : end], mutant.data[end : end + 4]
    return int.from_bytes(checksum, "big") == zlib.crc32(content)


def _assert_consistent(vector: BitMap64) -> None:
    """Masks and runs tell the same as the bitmap itself."""
    for start in {0, vector.max() // 2 if vector else 0, max(vector.max() - 9, 0) if vector else 0}:
        hidden = vector.range_cardinality(start, start + _WINDOW)
        assert deletion_mask(vector, start, _WINDOW).true_count == hidden
        assert live_mask(vector, start, _WINDOW).true_count == _WINDOW - hidden
    positions = list(islice(vector, _MANY))
    runs = islice(hidden_runs(vector), _MANY)
    told = (at for first, last in runs for at in range(first, last + 1))
    assert list(islice(told, _MANY)) == positions


def _read(data: bytes | None, source: Source, scratch: Path) -> BitMap64:
    _write(data, source, scratch)
    return read_deletion_vector(LocalStore(str(scratch)), source.descriptor)


def _write(data: bytes | None, source: Source, scratch: Path) -> None:
    if data is not None:
        place = scratch / source.file_name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))  # type: ignore[arg-type]
