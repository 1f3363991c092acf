"""`docs/interop.md`: how far the readers agree, and every disagreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from tests.interop.disagreements.entries import (
    DISAGREEMENTS,
    PEERS,
    STATE_AND_ROWS,
    Disagreement,
)
from tests.interop.disagreements.numbers import COUNTS, QUESTIONS

_HEAD = """\
# Other readers

Made from `tests/interop/disagreements/` by `python -m tests.interop.disagreements`; do not edit.

`deltalake` and delta-spark, the reference implementation, read the demo table and every table \
of the conformance corpus, and `tests/interop/test_corpus_peers.py` compares what they say with \
what we say: the latest version, files and bytes, every row, schema, protocol and features, \
metadata, clustering columns, history and the times of commits, transactions, the change data \
feed, row ids, and earlier versions — with `deltalake` all of them, with delta-spark the middle \
one of each longer history. A fact that a reader does not tell is left out. Of tables whose data \
files are not shipped, only the log is compared. The test fails for a disagreement that is not \
listed here, and for one that is gone.

*As expected* means that the latest version, its files and its rows are those of the corpus' \
manifest, or that the table is refused where it has to be. For explorer `tests/conformance` holds \
that, at every version.
"""

_NUMBERS = """\
## NaN and zeros

To all three engines NaN is greater than every number and equals itself, and so it is here. But \
delta-spark and DuckDB believe a footer whose bounds leave NaN out, as those of many writers do, \
and then lose its rows. The files that we write have no bounds of floating point numbers. \
delta-spark looks a number up in a dictionary by its bits, whoever wrote the file, itself \
included: it finds no -0.0 for 0.0 where all values of a row group are in the dictionary and 0.0 \
is not. `tests/interop/test_footer_peers.py` holds this table, and that each engine counts in our \
files what it counts in the same rows without any statistics.
"""


_WRITTEN = """\
## What we write

`tests/interop/test_random_writes.py` draws tables by seeds: types, nested ones too, names with \
every sign, partitions, clusters, rules, mapped columns and features; and rows with extremes, in \
many of Arrow's layouts. Appends and overwrites of them are compared with a plain list of rows, \
by every reader that there is, delta-spark with one table of twenty. What one of them does not \
read is told, and is no difference. Every table of the corpus is written to or refused in this \
process each day; by Spark, read by delta-spark too, a twenty-fourth, and on 27 November 2026 25 \
of the 124 by name (seed 20790, one statement of 20 or 20,000 rows each), clean:

| Reader | Rows read otherwise | What it refuses |
|---|--:|---|
| explorer | 0 | nothing |
| delta-spark | 0 | nothing |
| DuckDB and Polars, on the files | 0 | nothing |
| deltalake | 0 | type widening; partitions of days before the year -262144 or after 262143; some \
checkpoints without statistics in JSON (`delta.checkpoint.writeStatsAsJson` = `false`) |

The same statement on two copies of a table, by us and by delta-spark, leaves the same rows, \
schema, protocol, properties, bounds, change feed, row ids and numbers of identity columns \
(`test_write_twins.py`: twenty kinds of tables by six statements, one of them each day; 14 more \
by name on 27 November 2026), with two exceptions. Where it overwrites the schema and nobody \
names partition columns, delta-spark leaves a table without any, and where it overwrites a whole \
clustered table by its path, one that is clustered by no column. We keep both, as `deltalake` \
keeps partition columns.
"""


_CHANGED = """\
## What we change

Each table of the corpus that may be changed gets a delete of about a tenth of its rows, an \
update and a merge, on copies with 20 and with 20,000 rows more \
(`tests/interop/test_changed_corpus.py`). A plain list says which rows have to be there, and what \
the change data feed has to tell. What forbids a statement is named by its refusal; tables whose \
data files are not shipped, and one of a million rows, get other rows first. A part runs each \
day, all by `DELTA_EXPLORER_EVERYTHING=1`. On 27 November 2026 all six statements of 24 of the \
124 tables, drawn by `random.Random(20784).sample`, ran half here and half on Spark, each read by \
delta-spark (`DELTA_EXPLORER_EVERYTHING=1 ./run tests tests/interop/test_changed_corpus.py -k \
spark_changes`): all passed, two of them once their tests were mended. Rows of \
`kernel-unshredded-variant` are not merged on Spark, because rows with variants are not \
[merged](merging.md) there.

| Reader | Rows read otherwise | What it refuses |
|---|--:|---|
| explorer, its feed too | 0 | nothing |
| delta-spark | 0 | what it refuses of the table as it was |
| DuckDB and Polars, on new files | 0 | nothing |
| deltalake | 0 | what it refuses of the table as it was; partitions of days before the year \
-262144 or after 262143 |

In `tests/interop/test_conflict_peers.py` delta-spark commits while a statement of ours is under \
way, and the other way round: five that begin, by eight that commit first, about the same \
partition or another one, at both isolation levels. Ours follows, or begins again by the rule of \
the reference's table of conflicts, and the rows are those of one statement after the other. \
delta-spark raises an error where ours begins again, with two differences: it asks the partition \
of new rows alone, where ours asks the bounds of their files too, and it follows a protocol \
whose new feature asks nothing of what is under way.
"""


def render_document(tables: Sequence[Mapping[str, Any]]) -> str:
    """The whole document; `tables` is the manifest."""
    return (
        "\n".join(
            [
                _HEAD,
                *_figures(tables),
                *_peers(),
                *_numbers(),
                f"\n{_WRITTEN}",
                _CHANGED.rstrip(),
            ]
        )
        + "\n"
    )


def _figures(tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    versions = sum(len(table.get("history") or ()) for table in tables)
    yield "| Reader | Tables as expected | Refused for want of a feature | Read otherwise |"
    yield "|---|--:|--:|--:|"
    yield f"| explorer, latest version | {len(tables)} of {len(tables)} | 0 | 0 |"
    yield f"| explorer, every version that is left | {versions} of {versions} | 0 | 0 |"
    for peer in PEERS:
        refused, otherwise = _failing(peer)
        good = len(tables) - len(refused | otherwise)
        name = f"{_title(peer)}, latest version"
        yield f"| {name} | {good} of {len(tables)} | {len(refused)} | {len(otherwise)} |"


def _failing(peer: str) -> tuple[set[str], set[str]]:
    """The tables that it refuses and may, and those that it reads wrongly or wrongly refuses."""
    counted = [
        entry for entry in DISAGREEMENTS if entry.peer == peer and entry.fact in STATE_AND_ROWS
    ]
    refused = {name for entry in counted if _may(entry) for name in entry.tables}
    otherwise = {name for entry in counted if not _may(entry) for name in entry.tables}
    return refused, otherwise


def _may(entry: Disagreement) -> bool:
    return entry.refuses and entry.right == "either"


def _peers() -> Iterator[str]:
    for peer in PEERS:
        yield f"\n## {_title(peer)}\n"
        yield "| Table | Fact | What it says | Who is right | Why | Section |"
        yield "|---|---|---|---|---|---|"
        for entry in DISAGREEMENTS:
            if entry.peer == peer:
                yield _row(entry)


def _numbers() -> Iterator[str]:
    yield f"\n{_NUMBERS}"
    yield f"| Rows counted | {' | '.join(_title(engine) for engine in COUNTS)} |"
    yield "|---|" + "--:|" * len(COUNTS)
    for question, *counts in zip(QUESTIONS, *COUNTS.values(), strict=True):
        yield f"| {question} | {' | '.join(map(str, counts))} |"


def _row(entry: Disagreement) -> str:
    tables = "<br>".join(f"`{name}`" for name in entry.tables)
    if entry.elsewhere:
        tables += "<br>and most others"
    right = entry.peer if entry.right == "peer" else entry.right
    cells = (tables, entry.fact, entry.says, right, entry.because, entry.spec)
    return f"| {' | '.join(cells)} |"


def _title(peer: str) -> str:
    return f"{peer} {version(peer)}"
