"""Every disagreement with another reader: what it says, and who is right.

`tests/interop/test_corpus_peers.py` finds each of them anew, and fails for one that is not
listed here as for one that is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DELTALAKE = "deltalake"
DELTA_SPARK = "delta-spark"
PEERS = (DELTALAKE, DELTA_SPARK)

STATE_AND_ROWS = ("opening", "files", "rows")
"""The facts by which a table counts as read."""

_LACKS_FEATURE = (
    "A reader must not ignore a feature that it does not know; this one was built without it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """What one other reader says of a fact (see `tests.interop.reading`), at some tables.

    `found` is a regular expression for the beginning of what the tests find. With
    `elsewhere`, other tables may show the same.
    """

    peer: str
    tables: tuple[str, ...]
    fact: str
    found: str
    says: str
    right: Literal["explorer", "peer", "either"]
    because: str
    spec: str
    elsewhere: bool = False

    @property
    def refuses(self) -> bool:
        """Whether the other reader refuses to answer at all."""
        return self.found.startswith("refuses")


def _lacking(fact: str, tables: tuple[str, ...], found: str, feature: str) -> Disagreement:
    """A feature without which deltalake refuses rows."""
    return Disagreement(
        peer=DELTALAKE,
        tables=tables,
        fact=fact,
        found=found,
        says=f"refuses: it does not know {feature}",
        right="either",
        because=_LACKS_FEATURE,
        spec="Table Features",
    )


_SHREDDED = (
    "javakernel-spark-shredded-variant-preview-delta",
    "spark-variant-stats-state-reconstruction",
    "spark44-variant-shredded",
)
_WIDENED = ("golden-type-widening", "spark44-type-widening")
_NOT_SHREDDED = r"Unsupported table features required: \[VariantShreddingPreview\]"
_NOT_WIDENED = r"Unsupported table features required: \[TypeWidening(Preview)?\]"
_OLDER = r"\d+: refuses: .*"

DISAGREEMENTS = (
    Disagreement(
        peer=DELTALAKE,
        tables=("deltars-table_with_edge_timestamps",),
        fact="rows",
        found=r"2 rows that we have not: \[\(-4852",
        says="the year 1816 for times of the year 9999, stored as INT96",
        right="explorer",
        because="A timestamp has microseconds, which reach far beyond 9999. It goes through "
        "nanoseconds of 64 bits, which end in 2262 and wrap around.",
        spec="Primitive Types",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("golden-canonicalized-paths-normal-a",),
        fact="files",
        found=r"\(1, 100\), not \(0, 0\)",
        says="the file is still there",
        right="explorer",
        because="It was added as `/…` and removed as `file:/…`, which name the same file; "
        "the newest reference to a logical file counts.",
        spec="Action Reconciliation",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("golden-canonicalized-paths-normal-a",),
        fact="rows",
        found=r"refuses: .*some/unqualified/absolute/path",
        says="refuses: it looks for the removed file",
        right="explorer",
        because="As above: the table has no files, and so no rows.",
        spec="Action Reconciliation",
    ),
    _lacking(
        "rows",
        ("golden-basic-with-vacuum-protocol-check-feature",),
        r"refuses: .*Unsupported table features required: \[VacuumProtocolCheck\]",
        "vacuumProtocolCheck",
    ),
    _lacking("rows", _WIDENED, f"refuses: .*{_NOT_WIDENED}", "type widening"),
    _lacking("older rows", _WIDENED, _OLDER + _NOT_WIDENED, "type widening"),
    _lacking("rows", _SHREDDED, f"refuses: .*{_NOT_SHREDDED}", "shredded variants"),
    _lacking(
        "older rows",
        tuple(name for name in _SHREDDED if name != "spark-variant-stats-state-reconstruction"),
        _OLDER + _NOT_SHREDDED,
        "shredded variants",
    ),
    _lacking(
        "opening",
        ("kernel-table-with-geo",),
        r"refuses: .*Unsupported Delta table type: 'geometry",
        "geometry",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=(
            "golden-log-replay-latest-metadata-protocol",
            "kernel-partitioned_with_materialize_feature",
        ),
        fact="protocol",
        found=r"\(3, 7, None, \[.*\]\), not \(3, 7, \(\), \[",
        says="that `readerFeatures` is absent",
        right="explorer",
        because="The log has an empty list there; at reader version 3 it must exist.",
        spec="Table Features",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("kernel-app-txn-with-last-updated",),
        fact="transactions",
        found=r"(\w+: None, not 1(; )?){3}$",
        says="that there are none",
        right="either",
        because="`delta.setTransactionRetentionDuration`, which the specification does not "
        "have, let them expire after a day. We show what the log remembers, with its age.",
        spec="Transaction Identifiers",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("dat-cdf",),
        elsewhere=True,
        fact="commit times",
        found=r"\d+: (absent|\d+), not \d+",
        says="the time that the writer noted in `commitInfo`, if any",
        right="explorer",
        because="Provenance may hold anything or be absent. The time of a commit is the "
        "in-commit timestamp where these are active, else the modification time of its file, "
        "made monotonic; so the reference reads them, too.",
        spec="In-Commit Timestamps",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("dat-cdf",),
        elsewhere=True,
        fact="change times",
        found=r"\d+: \d+, not \d+",
        says="the same in `_commit_timestamp`",
        right="explorer",
        because="As above.",
        spec="In-Commit Timestamps",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=(
            "golden-canonicalized-paths-normal-a",
            "kernel-300k-add-files-100-col-partitioned",
            "kernel-cdf-table-with-dv",
            "kernel-with-short-dv",
            "spark-delta-0.1.0",
            "spark-table-with-dv-gigantic",
        ),
        fact="history",
        found=r"(\d+: absent, not None(; )?)+$",
        says="no such versions",
        right="explorer",
        because="Their commits have no `commitInfo`, which is optional; they are versions all "
        "the same.",
        spec="Commit Provenance Information",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("deltars-errlog-table_b",),
        fact="history",
        found=r"1: CREATE TABLE, not WRITE; 0: absent, not CREATE TABLE; 7: WRITE, not absent",
        says="commits 0 to 6 as those of versions 1 to 7",
        right="explorer",
        because="The version of a commit is the number in its name. Commit 7 is gone, and it "
        "counts down from the latest instead.",
        spec="Delta Log Entries",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("spark-transaction_log_schema_evolvability",),
        fact="history",
        found=r"refuses: DeltaProtocolError: Invalid JSON",
        says="refuses: it takes what it does not know for broken JSON",
        right="explorer",
        because="Actions and fields that a reader does not know are never needed to read.",
        spec="Protocol Evolution",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=("kernel-cdf-column-mapping-id-mode", "spark44-cdf-all-operations"),
        fact="changes",
        found=r"refuses: .*Column mapping is not supported",
        says="refuses: its change data feed has no column mapping",
        right="explorer",
        because="Change data files are read like data files, mapped columns and all.",
        spec="Reader Requirements for AddCDCFile",
    ),
    Disagreement(
        peer=DELTALAKE,
        tables=(
            "kernel-cdf-table-backtick-column-names",
            "kernel-cdf-table-data-change",
            "kernel-cdf-table-partitioned",
        ),
        fact="changes",
        found=r"refuses: .*test%25file%25prefix",
        says="refuses: it does not find files with an escaped sign in their names",
        right="explorer",
        because="A path in the log is a URI, to be decoded first.",
        spec="Add CDC File",
    ),
    Disagreement(
        peer=DELTA_SPARK,
        tables=("kernel-compacted-log-files-table",),
        fact="files",
        found=r"\(8, 7146\), not \(2, 1753\)",
        says="six files more",
        right="explorer",
        because="The table's log compaction files hold adds and removes of the same file, "
        "in no order of commits, where they should be reconciled. Delta-spark reads them "
        "line by line and brings removed files back; the commits are there and say otherwise.",
        spec="Log Compaction Files",
    ),
    Disagreement(
        peer=DELTA_SPARK,
        tables=("kernel-compacted-log-files-table",),
        fact="rows",
        found=r"18 rows that we have not: .*; lacks 0 rows",
        says="the rows of those files, too",
        right="explorer",
        because="As above.",
        spec="Log Compaction Files",
    ),
    Disagreement(
        peer=DELTA_SPARK,
        tables=("kernel-compacted-log-files-table",),
        fact="older rows",
        found=r"12: \d+ rows that we have not: .*; lacks 0 rows",
        says="the same at version 12",
        right="explorer",
        because="As above.",
        spec="Log Compaction Files",
    ),
    Disagreement(
        peer=DELTA_SPARK,
        tables=("kernel-table-with-geo",),
        fact="opening",
        found=r"refuses: .*DELTA_GEOSPATIAL_NOT_SUPPORTED",
        says="refuses: it does not know geometry",
        right="either",
        because=_LACKS_FEATURE,
        spec="Table Features",
    ),
)


def disagreements_at(peer: str, table: str) -> dict[str, Disagreement]:
    """Those listed for a table, by fact; of each fact there is one."""
    found = [entry for entry in DISAGREEMENTS if entry.peer == peer and table in entry.tables]
    by_fact = {entry.fact: entry for entry in found}
    assert len(by_fact) == len(found), f"{peer} says two things of one fact at {table}"
    return by_fact
