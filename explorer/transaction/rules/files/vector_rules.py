"""Deletion vectors of a commit (spec: Deletion Vectors, Deletion Vector Descriptor Schema)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError, Problem
from explorer.log.actions.columns import int64_column, int64_scalar, string_column, string_scalar
from explorer.log.plain_arrays import EMPTY, FALSE, TRUE, ZERO
from explorer.log.statistics.statistics_text import parse_statistics_texts
from explorer.protocol.paths import encode_path
from explorer.protocol.vectors.deletion_vectors import MAX_SIZE, parse_relative_place
from explorer.table.counts import have
from explorer.transaction.rules.change import REPORT, Change, Problems, problem, shown
from explorer.transaction.rules.files.place_rules import are_absolute, are_uris, lead_to_no_file

_ONE, _FOUR, _FIVE = (int64_column([1, 4, 5])[at] for at in range(3))
_MOST = int64_scalar(MAX_SIZE)
_NUMBERS: Final = ("numRecords",)
_TIGHT: Final = ("tightBounds",)
_Z85: Final = r"^[0-9A-Za-z.\-:+=^!/*?&<>()\[\]{}@%$#]+$"


def validate_vectors(change: Change) -> Problems:
    """Deletion vectors, and what the statistics of their files must say."""
    hidden = _hidden(change)
    if not hidden.num_rows:
        return
    after, again = change.after, change.staged.promises.recommits
    changing = pc.any(pc.coalesce(hidden.column("data_change"), TRUE)).as_py()
    if not after.supports("deletionVectors"):
        yield _vector("The commit has deletion vectors, and the table does not support them.")
    elif changing and not again and not after.has_active("deletionVectors"):
        yield _vector("The commit makes deletion vectors, and the table allows no new ones.")
    texts = hidden.column("stats").combine_chunks()
    said = parse_statistics_texts(texts, {_NUMBERS: pa.int64(), _TIGHT: pa.bool_()})
    counts = said.columns[_NUMBERS]
    if counts.null_count:
        yield _vector(f"{have(counts.null_count, 'file')} a deletion vector and no numRecords.")
    vectors = hidden.column("deletion_vector").combine_chunks()
    rows, size = (pc.struct_field(vectors, name) for name in ("cardinality", "size_in_bytes"))
    fits = pc.and_(pc.greater_equal(rows, ZERO), pc.less_equal(rows, pc.coalesce(counts, rows)))
    fits = pc.and_(fits, pc.less_equal(pc.cast(size, pa.int64()), _MOST))
    if not pc.all(pc.coalesce(fits, FALSE)).as_py():
        yield _vector("A deletion vector hides more rows than its file has, or says no number.")
    tight = pc.invert(pc.coalesce(pc.invert(said.columns[_TIGHT]), FALSE))
    if not again and changing and pc.any(tight).as_py():
        yield _vector(
            f"{have(pc.sum(tight).as_py(), 'file')} a deletion vector and "
            "statistics without `tightBounds` false."
        )


def validate_descriptors(change: Change) -> Problems:
    """A new vector can be found by every reader: its descriptor names one of the three ways
    to store it, a place of that kind, and its bytes there. A vector may hide no row at all:
    nothing in the specification forbids it, and the reference reads it."""
    vectors = change.newly_added(_hidden(change)).column("deletion_vector").combine_chunks()
    if not len(vectors):
        return
    kind, place = (
        pc.coalesce(pc.struct_field(vectors, name), EMPTY)
        for name in ("storage_type", "path_or_inline_dv")
    )
    is_u, is_p, is_i = (pc.equal(kind, string_scalar(name)) for name in "upi")
    unknown = kind.filter(pc.invert(pc.or_(pc.or_(is_u, is_p), is_i)))
    if len(unknown):
        yield _descriptor(f"Deletion vectors are stored in the way {_some(unknown)}.")
    for names in (_unnamed(place.filter(is_u)), _unreached(place.filter(is_p))):
        if names:
            yield _descriptor(f"The deletion vectors at {shown(names)} cannot be found.")
    yield from _bytes_of(vectors, place, is_i)


def _hidden(change: Change) -> pa.Table:
    """What is asked here of the adds that have a vector."""
    files = change.adds.select(["stats", "data_change", "deletion_vector"])
    vectors = files.column("deletion_vector")
    if vectors.null_count == files.num_rows:
        return files.slice(0, 0)
    return files.filter(vectors.is_valid())


def _unnamed(places: pa.Array) -> list[str]:
    """The places below the table that name no file, or one in the log; many vectors share
    one file."""
    wrong: list[str] = []
    names: dict[str, str] = {}
    for place in pc.unique(places).to_pylist():
        try:
            names[encode_path(parse_relative_place(place))] = place
        except DeltaError:
            wrong.append(place)
    paths = pa.chunked_array([string_column(list(names))])
    return wrong + [names[path] for path in paths.filter(lead_to_no_file(paths)).to_pylist()]


def _unreached(places: pa.Array) -> list[str]:
    """The places that are not absolute paths, or lead to no file."""
    paths = pa.chunked_array([pc.unique(places)])
    reached = pc.and_(are_absolute(paths), are_uris(paths))
    reached = pc.and_(reached, pc.invert(lead_to_no_file(paths)))
    return [str(place) for place in paths.filter(pc.invert(reached)).to_pylist()]


def _bytes_of(vectors: pa.Array, place: pa.Array, is_inline: pa.Array) -> Problems:
    offset, size = (
        pc.cast(pc.struct_field(vectors, name), pa.int64()) for name in ("offset", "size_in_bytes")
    )
    if pc.any(pc.and_(is_inline, offset.is_valid())).as_py():
        yield _descriptor("A deletion vector in the log itself has an offset.")
    # the version stands at 0; where the offset is absent, readers begin at different bytes
    begins = pc.greater_equal(pc.coalesce(offset, ZERO), _ONE)
    if not pc.all(pc.or_(is_inline, begins)).as_py():
        yield _descriptor("A deletion vector in a file does not say where it begins.")
    sized = pc.coalesce(pc.greater_equal(size, _ONE), FALSE)
    if not pc.all(sized).as_py():
        yield _descriptor("A deletion vector does not say how many bytes it has.")
    length = pc.cast(pc.utf8_length(place), pa.int64())
    words = pc.divide(length, _FIVE)
    whole = pc.and_(pc.equal(pc.multiply(words, _FIVE), length), _are_z85(place))
    # up to three bytes fill up the last word
    spare = pc.subtract(pc.multiply(words, _FOUR), pc.coalesce(size, ZERO))
    held = pc.and_(pc.greater_equal(spare, ZERO), pc.less(spare, _FOUR))
    lost = pc.and_(pc.and_(is_inline, sized), pc.invert(pc.and_(whole, held)))
    if pc.any(lost).as_py():
        yield _descriptor(
            "A deletion vector in the log itself is not Z85, or has another size than it says."
        )


def _are_z85(texts: pa.Array) -> pa.Array:
    return pc.match_substring_regex(texts, _Z85)


def _some(values: pa.Array) -> str:
    return shown([str(value) for value in pc.unique(values).slice(0, 5).to_pylist()])


def _vector(text: str) -> Problem:
    return problem(
        text,
        "Readers rely on these to hide the rows, to count the others and to skip files.",
        spec="Deletion Vectors",
        remedy="Set `delta.enableDeletionVectors`, or rewrite the files instead.",
    )


def _descriptor(text: str) -> Problem:
    return problem(
        text,
        "Who cannot find or read a vector cannot read its file, nor the table.",
        spec="Deletion Vector Descriptor Schema",
        remedy=REPORT,
        kind="log_corrupt",
    )
