"""All writer rules, in the order in which their problems are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from explorer.transaction.rules.change import Change, Problems
from explorer.transaction.rules.clustering_rules import validate_clustering
from explorer.transaction.rules.domain_rules import validate_domains
from explorer.transaction.rules.files.change_data_rules import (
    validate_change_data,
    validate_feed_columns,
    validate_needed_change_data,
)
from explorer.transaction.rules.files.file_rules import (
    validate_append_only,
    validate_files,
    validate_partition_values,
    validate_rearranged,
)
from explorer.transaction.rules.files.live_file_rules import validate_live_files
from explorer.transaction.rules.files.place_rules import validate_places
from explorer.transaction.rules.files.recorded_rules import (
    validate_recorded_nulls,
    validate_recorded_numbers,
)
from explorer.transaction.rules.files.row_tracking_rules import validate_row_tracking
from explorer.transaction.rules.files.statistics_rules import validate_statistics
from explorer.transaction.rules.files.vector_rules import validate_descriptors, validate_vectors
from explorer.transaction.rules.iceberg_rules import validate_iceberg
from explorer.transaction.rules.metadata.metadata_rules import validate_metadata_change
from explorer.transaction.rules.protocol_rules import (
    validate_actions,
    validate_numbers,
    validate_protocol_change,
    validate_supported_use,
    validate_writable,
)
from explorer.transaction.rules.row_rules import validate_isolation, validate_rows
from explorer.transaction.rules.time_rules import validate_times

ALL_RULES: Final[tuple[Callable[[Change], Problems], ...]] = (
    validate_writable,
    validate_actions,
    validate_protocol_change,
    validate_supported_use,
    validate_metadata_change,
    validate_feed_columns,
    validate_numbers,
    validate_files,
    validate_live_files,
    validate_places,
    validate_append_only,
    validate_rearranged,
    validate_partition_values,
    validate_statistics,
    validate_recorded_nulls,
    validate_recorded_numbers,
    validate_vectors,
    validate_descriptors,
    validate_change_data,
    validate_needed_change_data,
    validate_row_tracking,
    validate_domains,
    validate_clustering,
    validate_iceberg,
    validate_rows,
    validate_isolation,
    validate_times,
)
