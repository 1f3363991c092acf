"""Memory beside the rows while rows of Arrow are appended to an object store, beside `deltalake`.

    python -m benchmarks.store_memory                   3 M rows to the tests' server of S3
    python -m benchmarks.store_memory --rows 10000000 --store az

Each append is a process of its own; the rows are in memory before its peak is reset, and the server
is another process. The server answers one request after the other, so that seconds say little.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import peak_mib
from benchmarks.report import render_machine
from benchmarks.writes_here import eight_columns
from benchmarks.writes_measured import timed
from tests.stores import SERVERS

_ENTRANTS = ("explorer", "deltalake")
_PARTITIONS: dict[str, list[str]] = {"unpartitioned": [], "20 partitions": ["day"]}


def main() -> None:
    """Measures and prints."""
    options = _parse_options()
    print(render_machine(), flush=True)
    print(f"\n{options.rows:,} rows of 8 columns; MiB beside them at the peak, and seconds.\n")
    with SERVERS[options.store]() as direct:
        for title, columns in _PARTITIONS.items():
            for entrant in _ENTRANTS if options.store == "s3" else _ENTRANTS[:1]:
                asked = {"rows": options.rows, "columns": columns, "options": direct}
                place = f"{options.store}://bucket/{entrant}-{len(columns)}"
                told = _in_a_process(entrant, place, asked)
                print(
                    f"{title}, {entrant}: {told['mib']:.0f} MiB, {told['wall']:.1f} s", flush=True
                )


def _in_a_process(entrant: str, place: str, asked: dict[str, Any]) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.store_memory", entrant, place, json.dumps(asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def _append(entrant: str, place: str, asked: dict[str, Any]) -> None:
    """What the process does that is measured."""
    rows = eight_columns(asked["rows"])
    columns, options = asked["columns"], asked["options"]
    if entrant == "explorer":
        from explorer import pipeline  # noqa: PLC0415  # of one entrant alone

        def write(some: Any) -> None:
            pipeline.write(some, place, partition_by=columns, storage_options=options)

    else:
        from deltalake import write_deltalake  # noqa: PLC0415  # of one entrant alone

        theirs = {
            "AWS_ENDPOINT_URL": options["endpoint_url"],
            "AWS_ACCESS_KEY_ID": options["key"],
            "AWS_SECRET_ACCESS_KEY": options["secret"],
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

        def write(some: Any) -> None:
            write_deltalake(
                place, some, mode="append", partition_by=columns or None, storage_options=theirs
            )

    write(rows.slice(0, 1000))  # imports, and the client
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins here
    before = peak_mib()
    taken = timed(lambda: write(rows))
    print(json.dumps({"mib": peak_mib() - before, "wall": taken.wall}))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.store_memory", description="Memory of appends to a store."
    )
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--store", choices=sorted(SERVERS), default="s3")
    return parser.parse_args()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in _ENTRANTS:
        _append(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
    else:
        main()
