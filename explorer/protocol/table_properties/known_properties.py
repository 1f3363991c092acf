"""The known table properties, one entry each (spec: Table Properties).

The specification names a few; the rest are those of the reference, which
readers and writers of real tables rely on.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, Literal, TypeAlias, cast

from explorer.protocol.table_properties.byte_sizes import parse_byte_size
from explorer.protocol.table_properties.intervals import parse_interval
from explorer.protocol.table_properties.table_property import (
    TableProperty,
    integer_from,
    one_of,
    parse_bool,
    parse_text,
)

MappingMode: TypeAlias = Literal["none", "id", "name"]

_NOTHING_GOES: Final = (
    "What is to be kept is not known then, and nothing that it decides about is deleted here; "
    "other engines take the default in its place, or fail."
)
_FORMAT_VERSION = re.compile(r"1\.0\.0|2\.\d+\.\d+", re.ASCII)


def _parse_mode(text: str) -> MappingMode:
    return cast("MappingMode", one_of("none", "id", "name")(text))


def _parse_codec(text: str) -> str:
    codecs = ("uncompressed", "none", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "brotli", "lzo")
    return one_of(*codecs)(text)


def _parse_size(text: str) -> str:
    """The text itself, where it is a size: who asks for bytes parses it again."""
    parse_byte_size(text)
    return text


def _parse_format_version(text: str) -> str:
    if _FORMAT_VERSION.fullmatch(text) is None:
        raise ValueError("it must be 1.0.0 or 2.MINOR.PATCH")
    return text


APPEND_ONLY: Final[TableProperty[bool]] = TableProperty(
    name="delta.appendOnly",
    default="false",
    parse=parse_bool,
    description="Rows can be added but never changed or removed.",
)
DELETION_VECTORS: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableDeletionVectors",
    default="false",
    parse=parse_bool,
    description="Writers may mark rows as deleted in a vector instead of rewriting the file.",
)
CHANGE_DATA_FEED: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableChangeDataFeed",
    default="false",
    parse=parse_bool,
    description="Writers record which rows each commit changed.",
    aliases=("delta.enableChangeDataCapture",),
)
COLUMN_MAPPING_MODE: Final[TableProperty[MappingMode]] = TableProperty(
    name="delta.columnMapping.mode",
    default="none",
    parse=_parse_mode,
    description="How columns are found in data files: by display name, by id, or by physical name.",
)
COLUMN_MAPPING_MAX_ID: Final[TableProperty[int]] = TableProperty(
    name="delta.columnMapping.maxColumnId",
    default="0",
    parse=integer_from(0),
    description="The highest column id given out so far; kept by writers.",
)
IN_COMMIT_TIMESTAMPS: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableInCommitTimestamps",
    default="false",
    parse=parse_bool,
    description="Each commit carries its own, always growing timestamp.",
)
IN_COMMIT_TIMESTAMPS_PREVIEW: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableInCommitTimestamps-preview",
    default="false",
    parse=parse_bool,
    description="The same under the name of its preview.",
)
IN_COMMIT_TIMESTAMP_VERSION: Final[TableProperty[int | None]] = TableProperty(
    name="delta.inCommitTimestampEnablementVersion",
    aliases=("delta.inCommitTimestampEnablementVersion-preview",),
    default=None,
    parse=integer_from(0),
    description="The version from which commits carry their own timestamp, if not the first.",
)
IN_COMMIT_TIMESTAMP_TIME: Final[TableProperty[int | None]] = TableProperty(
    name="delta.inCommitTimestampEnablementTimestamp",
    aliases=("delta.inCommitTimestampEnablementTimestamp-preview",),
    default=None,
    parse=integer_from(0),
    description="The timestamp of that version, in milliseconds since 1970.",
)
ROW_TRACKING: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableRowTracking",
    default="false",
    parse=parse_bool,
    description="Every row keeps an id and the version that last changed it.",
)
ROW_TRACKING_SUSPENDED: Final[TableProperty[bool]] = TableProperty(
    name="delta.rowTrackingSuspended",
    default="false",
    parse=parse_bool,
    description="Writers give out no new row ids for now.",
)
ROW_ID_COLUMN: Final[TableProperty[str | None]] = TableProperty(
    name="delta.rowTracking.materializedRowIdColumnName",
    default=None,
    parse=parse_text,
    description="The hidden column of data files that holds row ids.",
)
ROW_COMMIT_VERSION_COLUMN: Final[TableProperty[str | None]] = TableProperty(
    name="delta.rowTracking.materializedRowCommitVersionColumnName",
    default=None,
    parse=parse_text,
    description="The hidden column of data files that holds row commit versions.",
)
TYPE_WIDENING: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableTypeWidening",
    default="false",
    parse=parse_bool,
    description="The type of a column may be changed to a wider one.",
)
VARIANT_SHREDDING: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableVariantShredding",
    default="false",
    parse=parse_bool,
    description="Writers may store parts of variants as typed columns.",
)
ICEBERG_COMPAT_V1: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableIcebergCompatV1",
    default="false",
    parse=parse_bool,
    description="Writers keep the table convertible to Iceberg, by rule set 1.",
)
ICEBERG_COMPAT_V2: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableIcebergCompatV2",
    default="false",
    parse=parse_bool,
    description="Writers keep the table convertible to Iceberg, by rule set 2.",
)
ICEBERG_COMPAT_V3: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableIcebergCompatV3",
    default="false",
    parse=parse_bool,
    description="Writers keep the table convertible to Iceberg, by rule set 3.",
)
ICEBERG_WRITER_COMPAT_V1: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableIcebergWriterCompatV1",
    default="false",
    parse=parse_bool,
    description="Writers keep the table writable as Iceberg too, by rule set 1.",
)
ICEBERG_WRITER_COMPAT_V3: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableIcebergWriterCompatV3",
    default="false",
    parse=parse_bool,
    description="Writers keep the table writable as Iceberg too, by rule set 3.",
)
MATERIALIZE_PARTITION_COLUMNS: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableMaterializePartitionColumnsFeature",
    default="false",
    parse=parse_bool,
    description="Asks for the feature that stores partition columns in data files.",
)
WRITE_PARTITION_COLUMNS: Final[TableProperty[bool | None]] = TableProperty(
    name="delta.writePartitionColumnsToParquet",
    default=None,
    parse=parse_bool,
    description="Whether data files hold partition columns too, where no feature decides it.",
)
UNIVERSAL_FORMATS: Final[TableProperty[str]] = TableProperty(
    name="delta.universalFormat.enabledFormats",
    default="",
    parse=parse_text,
    description="Other formats whose metadata is written after each commit, separated by commas.",
)
CHECKPOINT_INTERVAL: Final[TableProperty[int]] = TableProperty(
    name="delta.checkpointInterval",
    default="10",
    parse=integer_from(1),
    description="How many commits lie between two checkpoints.",
)
CHECKPOINT_POLICY: Final[TableProperty[str]] = TableProperty(
    name="delta.checkpointPolicy",
    default="classic",
    parse=one_of("classic", "v2"),
    description="Which kind of checkpoint writers make.",
)
CHECKPOINT_STATS_AS_JSON: Final[TableProperty[bool]] = TableProperty(
    name="delta.checkpoint.writeStatsAsJson",
    default="true",
    parse=parse_bool,
    description="Checkpoints keep file statistics as JSON.",
)
CHECKPOINT_STATS_AS_STRUCT: Final[TableProperty[bool]] = TableProperty(
    name="delta.checkpoint.writeStatsAsStruct",
    default="true",
    parse=parse_bool,
    description="Checkpoints keep file statistics and partition values as typed columns.",
)
CHECKPOINT_RETENTION: Final[TableProperty[timedelta]] = TableProperty(
    name="delta.checkpointRetentionDuration",
    default="interval 2 days",
    parse=parse_interval,
    description="How long checkpoints are kept at least.",
)
CHECKPOINT_PROTECTION_VERSION: Final[TableProperty[int]] = TableProperty(
    name="delta.requireCheckpointProtectionBeforeVersion",
    default="0",
    parse=integer_from(0),
    description="Checkpoints before this version may only go together with all history up to it.",
)
LOG_RETENTION: Final[TableProperty[timedelta]] = TableProperty(
    name="delta.logRetentionDuration",
    default="interval 30 days",
    parse=parse_interval,
    description="How long the history is kept at least.",
    if_unread=_NOTHING_GOES,
)
LOG_CLEANUP: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableExpiredLogCleanup",
    default="true",
    parse=parse_bool,
    description="Writers delete history that is past its retention.",
    if_unread=_NOTHING_GOES,
)
FULL_RETENTION_ROLLBACK: Final[TableProperty[bool]] = TableProperty(
    name="delta.enableFullRetentionRollback",
    default="true",
    parse=parse_bool,
    description="The table can be rolled back to any version within the log retention.",
)
DROP_FEATURE_RETENTION: Final[TableProperty[timedelta]] = TableProperty(
    name="delta.dropFeatureTruncateHistory.retentionDuration",
    default="interval 24 hours",
    parse=parse_interval,
    description="How much history is kept when a feature is dropped with its history.",
)
DELETED_FILE_RETENTION: Final[TableProperty[timedelta]] = TableProperty(
    name="delta.deletedFileRetentionDuration",
    default="interval 1 week",
    parse=parse_interval,
    description="How long removed files stay before vacuum may delete them.",
    if_unread=_NOTHING_GOES,
)
TRANSACTION_RETENTION: Final[TableProperty[timedelta | None]] = TableProperty(
    name="delta.setTransactionRetentionDuration",
    default=None,
    parse=parse_interval,
    description="How long the progress of an application is remembered; forever if not set.",
)
SAMPLE_RETENTION: Final[TableProperty[timedelta]] = TableProperty(
    name="delta.sampleRetentionDuration",
    default="interval 7 days",
    parse=parse_interval,
    description="How long samples of the data are kept.",
)
ISOLATION_LEVEL: Final[TableProperty[str]] = TableProperty(
    name="delta.isolationLevel",
    default="Serializable",
    parse=one_of("Serializable", "WriteSerializable", "SnapshotIsolation"),
    description="How far concurrent writers must be kept apart.",
)
INDEXED_COLUMNS: Final[TableProperty[int]] = TableProperty(
    name="delta.dataSkippingNumIndexedCols",
    default="32",
    parse=integer_from(-1),
    description="Statistics are kept for this many leading columns; -1 means all.",
)
STATS_COLUMNS: Final[TableProperty[str | None]] = TableProperty(
    name="delta.dataSkippingStatsColumns",
    default=None,
    parse=parse_text,
    description="The columns to keep statistics for, by name; counts before the number of columns.",
)
STRING_PREFIX: Final[TableProperty[int | None]] = TableProperty(
    name="delta.dataSkippingStringPrefixLength",
    default=None,
    parse=integer_from(0),
    description="How many characters of a string its bounds keep.",
)
RANDOMIZE_FILE_PREFIXES: Final[TableProperty[bool]] = TableProperty(
    name="delta.randomizeFilePrefixes",
    default="false",
    parse=parse_bool,
    description="Data files go into folders with random names.",
)
RANDOM_PREFIX_LENGTH: Final[TableProperty[int]] = TableProperty(
    name="delta.randomPrefixLength",
    default="2",
    parse=integer_from(1),
    description="How long such a random name is.",
)
COMPRESSION: Final[TableProperty[str]] = TableProperty(
    name="delta.parquet.compression.codec",
    default="zstd",
    parse=_parse_codec,
    description="How new Parquet files are compressed.",
)
PARQUET_VERSION: Final[TableProperty[str]] = TableProperty(
    name="delta.parquet.format.version",
    default="1.0.0",
    parse=_parse_format_version,
    description="The data page format of new Parquet files.",
)
TARGET_FILE_SIZE: Final[TableProperty[str | None]] = TableProperty(
    name="delta.targetFileSize",
    default=None,
    parse=_parse_size,
    description="The size that writers aim at for data files.",
)
TUNE_FILE_SIZES: Final[TableProperty[bool | None]] = TableProperty(
    name="delta.tuneFileSizesForRewrites",
    default=None,
    parse=parse_bool,
    description="Writers choose smaller files where rows are often rewritten.",
)
AUTO_OPTIMIZE: Final[TableProperty[bool | None]] = TableProperty(
    name="delta.autoOptimize",
    default=None,
    parse=parse_bool,
    description="Writers tidy up the layout of files as they write.",
)
AUTO_COMPACT: Final[TableProperty[str | None]] = TableProperty(
    name="delta.autoOptimize.autoCompact",
    default=None,
    parse=parse_text,
    description="Whether small files are merged after a write.",
)
OPTIMIZE_WRITE: Final[TableProperty[bool | None]] = TableProperty(
    name="delta.autoOptimize.optimizeWrite",
    default=None,
    parse=parse_bool,
    description="Whether rows are shuffled before a write to make fewer, larger files.",
)
SYMLINK_MANIFEST: Final[TableProperty[bool]] = TableProperty(
    name="delta.compatibility.symlinkFormatManifest.enabled",
    default="false",
    parse=parse_bool,
    description="A list of live files is written for engines that cannot read the log.",
)
COMMIT_COORDINATOR: Final[TableProperty[str | None]] = TableProperty(
    name="delta.coordinatedCommits.commitCoordinator-preview",
    default=None,
    parse=parse_text,
    description="The service that decides commits; a preview that catalog-managed tables replaced.",
)
