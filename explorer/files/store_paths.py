"""From the paths of a log to the store's names below the table's root, column-wise
(spec: Add File and Remove File, Deletion Vector Descriptor Schema).

The rules of `explorer.protocol.paths` and `parse_relative_place` without a Python object
per file. What only a folder or a name with escapes needs is done once per folder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError
from explorer.files.decoded_paths import (
    decode_as_text,
    decode_in_pieces,
    may_need_normalising,
)
from explorer.log.actions.columns import int64_scalar, string_column, string_scalar
from explorer.log.plain_arrays import EMPTY, FALSE, build_array, in_one_piece
from explorer.log.text_bytes import holds_byte, may_begin_with
from explorer.protocol.paths import normalise_path
from explorer.protocol.vectors.deletion_vectors import parse_relative_place

_ABSOLUTE = r"^(?:/|[A-Za-z][A-Za-z0-9+.-]*:)"
# relative paths, as they stand or decoded, that may lead out of the root and back into it
_LEADS_OUT = rf"{_ABSOLUTE}|(?:^|/)\.\.(?:/|$)"

LEADS_ROUND = r"(?:^|/)\.{0,2}(?:/|$)"
"""Pattern of paths below the root with an empty part, `.` or `..`: another name of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where files lie: `inside` below the table's root, decoded; `written` are relative paths
    as the log has them, wherever a `%` stands in some of them; `outside` are the names alone
    (the last part of the path) of files named by another place.

    A writer that does not encode means a path as it stands, and another place may be the
    same one under another name (a link, another scheme), so that whoever deletes spares such
    files too.
    """

    inside: pa.ChunkedArray
    written: pa.ChunkedArray
    outside: pa.ChunkedArray

    @property
    def names(self) -> pa.ChunkedArray:
        """What lies inside, under all names that it may have."""
        return _both(self.inside, self.written)

    def joined(self, other: Places) -> Places:
        """Both."""
        return Places(
            inside=_both(self.inside, other.inside),
            written=_both(self.written, other.written),
            outside=_both(self.outside, other.outside),
        )


def _places(
    inside: Sequence[pa.Array], written: Sequence[pa.Array] = (), outside: Sequence[pa.Array] = ()
) -> Places:
    return Places(
        inside=pa.chunked_array(inside, pa.string()),
        written=pa.chunked_array(written, pa.string()),
        outside=pa.chunked_array(outside, pa.string()),
    )


def _both(one: pa.ChunkedArray, two: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([*one.chunks, *two.chunks], pa.string())


NOWHERE = _places([])


def places_of(files: pa.Table, root: str, names: pa.ChunkedArray | None = None) -> Places:
    """Every file that rows with `path` and `deletion_vector` reference; `root` is the
    table's place as its store shows it, `names` what `file_of_each` made of the paths."""
    found = NOWHERE if names is None else _named_places(files.column("path"), names, root)
    for batch in files.select(["path", "deletion_vector"]).to_batches():
        if names is None:
            found = found.joined(data_places(batch.column("path"), root))
        vectors = batch.column("deletion_vector")
        if vectors.null_count < len(vectors):
            found = found.joined(vector_places(vectors, root))
    return found


def _named_places(paths: pa.ChunkedArray, names: pa.ChunkedArray, root: str) -> Places:
    """`data_places` of paths that have been decoded already."""
    absolute = _are_absolute(paths)
    elsewhere = NOWHERE
    if pc.any(absolute).as_py():
        elsewhere = data_places(paths.filter(absolute).combine_chunks(), root)
        relative = pc.invert(absolute)
        paths, names = paths.filter(relative), names.filter(relative)
    is_written = any(holds_byte(chunk, "%") for chunk in paths.chunks)
    spelled = [*paths.chunks, *(names.chunks if is_written else ())]
    around, led_out = _other_names(spelled)
    return elsewhere.joined(
        _places([*names.chunks, *around], paths.chunks if is_written else (), led_out)
    )


def data_places(paths: pa.Array, root: str) -> Places:
    """The files of paths as the log has them."""
    absolute = _are_absolute(paths)
    relative, others = _split(paths, absolute)
    inside = decode_in_pieces(pa.chunked_array([relative])).chunks
    written = [relative] if holds_byte(relative, "%") else []
    spelled = [relative, *(inside if written else ())]
    around, outside = _other_names(spelled)
    inside += around
    if len(others):
        below, beyond = _below_root(others, root)
        inside.append(below)
        outside.append(beyond)
    return _places(inside, written, outside)


def vector_places(vectors: pa.Array, root: str) -> Places:
    """The files of deletion vectors (struct as in `explorer.log.actions.columns`); inline ones have
    none. Raises `CorruptLogError` where one cannot be named."""
    kinds = pc.struct_field(vectors, "storage_type")
    places = pc.struct_field(vectors, "path_or_inline_dv")
    by_unique = pc.coalesce(pc.equal(kinds, string_scalar("u")), FALSE)
    by_path = pc.coalesce(pc.equal(kinds, string_scalar("p")), FALSE)
    named = pc.unique(places.filter(by_unique)).drop_null()
    found = _places([_unique_names(named)])
    absolute = pc.unique(places.filter(by_path)).drop_null()
    return found.joined(data_places(absolute, root)) if len(absolute) else found


def file_of_each(files: pa.Table, root: str) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    """Row by row, the data file and the deletion vector's file, as a listing names them
    below `root`; null where there is none, or none below it. The second is None where no
    row has a vector."""
    paths = files.column("path")
    names = decode_in_pieces(paths)
    absolute = _are_absolute(paths)
    if pc.any(absolute).as_py():
        names = _with_absolute(paths.combine_chunks(), absolute.combine_chunks(), names, root)
    vectors = in_one_piece(files.column("deletion_vector"))
    if vectors.null_count == len(vectors):
        return names, None
    kinds = pc.struct_field(vectors, "storage_type")
    places = pc.dictionary_encode(
        pc.binary_join_element_wise(
            pc.coalesce(kinds, EMPTY),
            pc.coalesce(pc.struct_field(vectors, "path_or_inline_dv"), EMPTY),
            EMPTY,
        )
    )
    each = string_column([_vector_file(text, root) for text in places.dictionary.to_pylist()])
    return names, pa.chunked_array([each.take(places.indices)])


def _with_absolute(
    paths: pa.Array, absolute: pa.Array, names: pa.ChunkedArray, root: str
) -> pa.ChunkedArray:
    """The `names` of paths, those of `absolute` ones looked up below `root`."""
    below = _each_below(paths.filter(absolute), root)
    return pa.chunked_array([pc.replace_with_mask(names.combine_chunks(), absolute, below)])


def _vector_file(place: str, root: str) -> str | None:
    """The file of one vector, by its storage type and place as one text."""
    if place[:1] == "u":
        return _relative_place(place[1:])
    if place[:1] == "p":
        return _each_below(string_column([place[1:]]), root)[0].as_py()  # type: ignore[no-any-return]
    return None


def _each_below(paths: pa.Array, root: str) -> pa.Array:
    starts = _starts(root)
    found = (_below(_normalised(decode_as_text(text)), starts) for text in paths.to_pylist())
    # what a way round leads to is not for us to say: the store is asked for it as it stands
    return string_column(
        [None if name is None or re.search(LEADS_ROUND, name) else name for name in found]
    )


def place_keys(paths: pa.ChunkedArray, root: str | None) -> pa.ChunkedArray:
    """Paths of a log in a form in which those of one file are alike, null for null: decoded,
    without `.`, `..` and empty parts, and relative where they lie below `root` (None where
    nobody knows it). Readers reconcile by the text of a path, so that one file under two
    spellings is two to some of them: whoever adds, follows or waits goes by this instead."""
    names = decode_in_pieces(paths)
    if not any(_may_have_another_form(chunk) for chunk in names.chunks):
        return names
    starts = () if root is None else _starts(root)
    each = (
        None if text is None else _place(text, starts)
        for chunk in names.chunks
        for text in chunk.to_pylist()
    )
    return pa.chunked_array([string_column(list(each))])


def _may_have_another_form(names: pa.Array) -> bool:
    return may_need_normalising(names) or may_begin_with(names, "/") or holds_byte(names, ":")


def _place(text: str, starts: tuple[str, ...]) -> str:
    if re.match(_ABSOLUTE, text) is None:
        return posixpath.normpath(text)
    scheme, separator, rest = _normalised(text).partition("://")
    if not separator:  # `file:/a`
        scheme, separator, rest = scheme.partition(":")
    form = f"{scheme}{separator}{posixpath.normpath(rest)}"
    below = _below(form, starts)
    return form if below is None else below


def last_parts(paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The names of files, without their folders."""
    return pc.replace_substring_regex(paths, r"^(?s:.*)/", "")


def _are_absolute(paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    # to look at all bytes is many times cheaper than an expression, and nearly always there is
    # nothing more to be asked
    chunks = paths.chunks if isinstance(paths, pa.ChunkedArray) else [paths]
    if not any(holds_byte(chunk, ":") for chunk in chunks):
        if any(may_begin_with(chunk, "/") for chunk in chunks):
            return pc.starts_with(paths, "/")
        none = build_array(np.zeros(len(paths), np.bool_))
        return pa.chunked_array([none]) if isinstance(paths, pa.ChunkedArray) else none
    return pc.match_substring_regex(paths, _ABSOLUTE)


def _other_names(spelled: Sequence[pa.Array]) -> tuple[list[pa.Array], list[pa.Array]]:
    """Of relative paths those with `./`, `../` or empty parts, without these; and the names of
    the files of those that may lead out of the root."""
    around, outside = [], []
    for paths in spelled:
        goes_round = may_need_normalising(paths)
        if goes_round:
            around.append(_normalised_parts(paths))
        if goes_round or may_begin_with(paths, "/") or holds_byte(paths, ":"):
            outside.append(_names_led_out(paths))
    return around, outside


def _normalised_parts(paths: pa.Array) -> pa.Array:
    found = paths.filter(pc.or_(pc.match_substring(paths, "./"), pc.match_substring(paths, "//")))
    return string_column([posixpath.normpath(path) for path in found.to_pylist()])


def _names_led_out(paths: pa.Array) -> pa.Array:
    return last_parts(paths.filter(pc.match_substring_regex(paths, _LEADS_OUT)))


def _split(paths: pa.Array, absolute: pa.Array) -> tuple[pa.Array, pa.Array]:
    if not pc.any(absolute).as_py():
        return paths, paths.slice(0, 0)
    return paths.filter(pc.invert(absolute)), paths.filter(absolute)


def _below_root(paths: pa.Array, root: str) -> tuple[pa.Array, pa.Array]:
    """Absolute paths: those below the root, relative to it, and the names of the others."""
    # shallow clones have few folders, and tables of their own hardly any such path
    starts = _starts(root)
    below: list[str] = []
    beyond: list[str] = []
    for text in paths.to_pylist():
        for form in {_normalised(text), _normalised(decode_as_text(text))}:
            inside = _below(form, starts)
            if inside is not None:
                below.append(inside)
            # a way round may lead below the root, or out of it again
            if inside is None or re.search(LEADS_ROUND, inside):
                beyond.append(form.rpartition("/")[2])
    return string_column(below), string_column(beyond)


def _starts(root: str) -> tuple[str, ...]:
    """The ways in which paths below the root begin."""
    plain = root.rstrip("/") + "/"
    return (_normalised(plain), f"file:{plain}") if root.startswith("/") else (_normalised(plain),)


def _below(form: str, starts: tuple[str, ...]) -> str | None:
    """The part of an absolute path that lies below the root."""
    start = next((start for start in starts if form.startswith(start)), None)
    return None if start is None else form[len(start) :]


def _normalised(path: str) -> str:
    found = normalise_path(path)
    scheme, separator, rest = found.partition("://")
    same = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
    return f"{same.get(scheme.lower(), scheme.lower())}{separator}{rest}" if separator else found


_ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = np.full(256, 255, np.uint8)
_DIGITS[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(85, dtype=np.uint8)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_PLACE = 20  # characters of a UUID in Z85
_PARSED_ONE_BY_ONE = 256


def _unique_names(places: pa.Array) -> pa.Array:
    """`parse_relative_place` of many."""
    plain = pc.and_(
        pc.equal(pc.utf8_length(places), int64_scalar(_PLACE)),
        pc.equal(pc.binary_length(places), pc.utf8_length(places)),
    )
    if len(places) < _PARSED_ONE_BY_ONE or not pc.all(plain).as_py():
        return string_column([_relative_place(place) for place in places.to_pylist()])
    start = np.frombuffer(places.buffers()[1], np.int32)[places.offset]
    text = np.frombuffer(places.buffers()[2], np.uint8, _PLACE * len(places), int(start))
    digits = _DIGITS[text].reshape(len(places), 4, 5).astype(np.uint64)
    powers = np.array([85**4, 85**3, 85**2, 85, 1], np.uint64)
    numbers = (digits * powers).sum(axis=2)
    if (digits == 255).any() or (numbers >= 2**32).any():
        return string_column([_relative_place(place) for place in places.to_pylist()])
    unique = numbers.astype(">u4").view(np.uint8).reshape(len(places), 16)
    letters = np.empty((len(places), 32), np.uint8)
    letters[:, 0::2], letters[:, 1::2] = _HEX[unique >> 4], _HEX[unique & 15]
    return _as_names(letters)


def _as_names(letters: np.ndarray[tuple[int, int], np.dtype[np.uint8]]) -> pa.Array:
    """`deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin` of each UUID's digits."""
    pattern = b"deletion_vector_________-____-____-____-____________.bin"
    count, size = len(letters), len(pattern)
    names = np.tile(np.frombuffer(pattern, np.uint8), (count, 1))
    begin = len(b"deletion_vector_")
    at = [begin + place + dashes for place, dashes in zip(range(32), _DASHES, strict=True)]
    names[:, at] = letters
    offsets = np.arange(0, (count + 1) * size, size, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(names.tobytes())]
    return pa.Array.from_buffers(pa.string(), count, buffers)


# how many dashes stand before each of the 32 digits of a UUID
_DASHES = [0] * 8 + [1] * 4 + [2] * 4 + [3] * 4 + [4] * 12


def _relative_place(place: str) -> str:
    try:
        return parse_relative_place(place)
    except ValueError as error:
        raise CorruptLogError(
            "A deletion vector's file cannot be named.",
            reason=f"{place[:60]!r} holds no UUID.",
            remedy="Restore the log file from a backup.",
            spec="Deletion Vector Descriptor Schema",
        ) from error
