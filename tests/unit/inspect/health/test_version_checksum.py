"""Version checksums against the log that they were written for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import CorruptLogError
from explorer.inspect.health.version_checksum import validate_checksum
from explorer.protocol.actions import Transaction
from explorer.protocol.version_checksum import parse_version_checksum
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, vector

# one was written for a table of other content; in the other one's commit somebody
# moved the in-commit timestamp afterwards
_LIES = {
    ("kernel-crc-full", 0): {"files", "bytes", "transaction", "domain"},
    ("deltars-cdc_ict_table", 1): {"in-commit timestamp"},
}


@pytest.mark.slow
@pytest.mark.rule("newer-checksum-deleted-histogram", "newer-checksum-may-lie")
@pytest.mark.rule("newer-checksum-validate")
def test_every_checksum_of_the_corpus_agrees_in_all_that_it_claims(corpus: Path) -> None:
    checked = 0
    for file in sorted((corpus / "tables").glob("*/_delta_log/*.crc")):
        name, version = file.parent.parent.name, int(file.stem)
        table = explorer.open_table(file.parent.parent)
        told = validate_checksum(table.store, table.snapshot(version=version))
        words = _LIES.get((name, version), set())
        assert bool(told) == bool(words), (name, version, told)
        assert all(any(word in problem.reason for problem in told) for word in words)
        checked += 1
    assert checked > 200


_DOMAIN = {"domain": "d", "configuration": "{}", "removed": False}
_COMMIT: list[Any] = [
    {"commitInfo": {"txnId": "t", "inCommitTimestamp": 5}},
    FEATURE_PROTOCOL,
    metadata(configuration={"delta.enableDeletionVectors": "true"}),
    add("a", size=100, deletionVector=vector(cardinality=2)),
    {"txn": {"appId": "s", "version": 4}},
    {"domainMetadata": _DOMAIN},
]
_RIGHT: dict[str, Any] = {
    "numFiles": 1,
    "tableSizeBytes": 100,
    "numProtocol": 1,
    "numMetadata": 1,
    "protocol": {
        **FEATURE_PROTOCOL["protocol"],
        "writerFeatures": FEATURE_PROTOCOL["protocol"]["writerFeatures"][::-1],
    },
    "metadata": _COMMIT[2]["metaData"],
    "setTransactions": [{"appId": "s", "version": 4}],
    "domainMetadata": [_DOMAIN, {**_DOMAIN, "domain": "gone", "removed": True}],
    "numDeletedRecordsOpt": 2,
    "numDeletionVectorsOpt": 1,
    "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [0, 1, *[0] * 8]},
    "txnId": "t",
    "inCommitTimestampOpt": 5,
    "fileSizeHistogram": None,
    "somethingNew": [1],
}


def _histogram(*counts: int) -> dict[str, Any]:
    """The claim, filled up to its ten bins."""
    filled = [*counts, *[0] * (10 - len(counts))]
    return {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": filled}}


def _told(root: Path, checksum: str) -> list[str]:
    log = LogFolder(root)
    log.commit(0, _COMMIT)
    log.write(f"{0:020}.crc", checksum)
    table = explorer.open_table(log.root)
    problems = validate_checksum(table.store, table.snapshot())
    assert {problem.place for problem in problems} <= {f"{0:020}.crc"}
    return [problem.reason for problem in problems]


@pytest.mark.rule("newer-checksum-optional")
def test_checksum_that_agrees_says_nothing(tmp_path: Path) -> None:
    assert _told(tmp_path / "all", json.dumps(_RIGHT)) == []
    least = {"numFiles": 1, "tableSizeBytes": 100}
    assert _told(tmp_path / "least", json.dumps(least)) == []


def test_schema_may_be_spelled_otherwise(tmp_path: Path) -> None:
    body = _RIGHT["metadata"]
    spaced = json.dumps(json.loads(body["schemaString"]), indent=1)
    assert spaced != body["schemaString"]
    claim = _RIGHT | {"metadata": {**body, "schemaString": spaced}}
    assert _told(tmp_path / "t", json.dumps(claim)) == []


@pytest.mark.rule("newer-checksum-optional", "newer-checksum-validate")
@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ({"numFiles": 2}, "It claims 2 files; the log holds 1."),
        ({"tableSizeBytes": 99}, "It claims 99 bytes; the log holds 100."),
        ({"numDeletedRecordsOpt": 0}, "It claims 0 rows soft-deleted by deletion vectors;"),
        ({"numDeletionVectorsOpt": 0}, "It claims 0 deletion vectors;"),
        (
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7}},
            "Its protocol differs in min_reader_version: 1; in the log 3.",
        ),
        ({"metadata": {"id": "x", "schemaString": "{}"}}, "Its metadata differs in id"),
        ({"setTransactions": []}, "transaction of 's' is at no version; in the log at version 4"),
        ({"setTransactions": [{"appId": "s", "version": 5}]}, "at version 5; in the log at"),
        ({"domainMetadata": []}, "domain 'd' is absent; in the log '{}'"),
        ({"domainMetadata": [{**_DOMAIN, "configuration": "1"}]}, "domain 'd' is '1'"),
        (_histogram(1), "It claims 1 files with no soft-deleted rows; the log holds 0."),
        (_histogram(1), "It claims 0 files with 1 to 9 soft-deleted rows; the log holds 1."),
        (_histogram(*[0] * 9, 1), "claims 1 files with 2147483647 or more soft-deleted rows"),
        ({"txnId": "u"}, 'made for transaction "u", not "t"'),
        ({"inCommitTimestampOpt": 6}, "claims the in-commit timestamp 6, not 5"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_each_claim_is_compared(claim: dict[str, Any], says: str, tmp_path: Path) -> None:
    told = _told(tmp_path / "t", json.dumps(_RIGHT | claim))
    assert any(says in reason for reason in told), told


@pytest.mark.rule("newer-checksum-deleted-histogram")
def test_files_are_counted_by_the_rows_that_their_vectors_hide(tmp_path: Path) -> None:
    # the ends of each bin, and a file without a vector for the bin of none
    bins = [(0, 0), *((10**power, 10 ** (power + 1) - 1) for power in range(7))]
    bins += [(10_000_000, 2_147_483_646), (2_147_483_647, 2**40)]
    cardinalities = [number for ends in bins for number in ends]
    log = LogFolder(tmp_path / "t")
    files = [
        add(f"f{number}", size=1, deletionVector=vector(offset=number, cardinality=cardinality))
        for number, cardinality in enumerate(cardinalities)
    ]
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("plain", size=1), *files])
    table = explorer.open_table(log.root)
    for counts, wrong in (([3, *[2] * 9], 0), ([2] * 10, 1), ([3, 1, 3, *[2] * 7], 2)):
        claims = {"numFiles": 21, "tableSizeBytes": 21, **_histogram(*counts)}
        log.write(f"{0:020}.crc", json.dumps(claims))
        assert len(validate_checksum(table.store, table.snapshot())) == wrong


@pytest.mark.rule("newer-checksum-required")
@pytest.mark.parametrize(
    "checksum",
    [
        "",
        "{",
        "5",
        json.dumps({"numFiles": 1}),
        json.dumps(_RIGHT | {"numFiles": -1}),
        json.dumps(_RIGHT | {"numFiles": True}),
        json.dumps(_RIGHT | {"numFiles": 2**64}),
        json.dumps(_RIGHT | {"numProtocol": 2}),
        json.dumps(_RIGHT | {"deletedRecordCountsHistogramOpt": [1]}),
        json.dumps(_RIGHT | {"deletedRecordCountsHistogramOpt": {}}),
        json.dumps(_RIGHT | _histogram(*[0] * 11)),
        json.dumps(_RIGHT | _histogram(True)),
        json.dumps(_RIGHT | _histogram(-1)),
        json.dumps(_RIGHT | {"protocol": []}),
        json.dumps(_RIGHT | {"metadata": {"id": 5}}),
        json.dumps(_RIGHT | {"setTransactions": {}}),
        json.dumps(_RIGHT | {"setTransactions": [5]}),
        json.dumps(_RIGHT | {"domainMetadata": [{}]}),
    ],
)
def test_broken_checksum_is_a_problem_and_no_error(checksum: str, tmp_path: Path) -> None:
    (reason,) = _told(tmp_path / "t", checksum)
    assert reason
    with pytest.raises(CorruptLogError):
        parse_version_checksum(checksum.encode(), "x.crc")


def test_endless_checksum_is_not_read_whole(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, _COMMIT)
    with log.write(f"{0:020}.crc", "{").open("r+b") as file:
        file.truncate(2**34)
    table = explorer.open_table(log.root)
    (problem,) = validate_checksum(table.store, table.snapshot())
    assert problem.reason.startswith("It is larger than 64 MiB")


def test_transaction_that_may_have_expired_need_not_be_claimed(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    retention = {"delta.setTransactionRetentionDuration": "interval 1 day"}
    old = {"appId": "old", "version": 1, "lastUpdated": 5}
    ageless = {"appId": "ageless", "version": 1}
    log.commit(
        0, [FEATURE_PROTOCOL, metadata(configuration=retention), {"txn": old}, {"txn": ageless}]
    )
    claims = {"numFiles": 0, "tableSizeBytes": 0, "setTransactions": []}
    log.write(f"{0:020}.crc", json.dumps(claims))
    table = explorer.open_table(log.root)
    (problem,) = validate_checksum(table.store, table.snapshot())
    assert "'ageless'" in problem.reason
    parsed = parse_version_checksum(json.dumps(claims | {"setTransactions": [old]}).encode(), "x")
    assert parsed.transactions == (Transaction(app_id="old", version=1, last_updated=5),)
