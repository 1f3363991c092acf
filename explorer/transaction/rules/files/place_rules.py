"""Where the files of a commit lie (spec: Add File and Remove File: "The path is a URI as
specified by RFC 2396"; Data Files).

Raw letters beyond ASCII are taken, as readers take them; what they mind is refused: one
such path and the reference can no longer list any file of the table.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.decoded_paths import decode_in_pieces
from explorer.log.actions.columns import bool_column
from explorer.log.plain_arrays import FALSE, TRUE
from explorer.table.counts import have
from explorer.transaction.rules.change import REPORT, Change, Problems, problem, shown

_SPEC: Final = "Add File and Remove File"

# what stands for itself in a segment, percent escapes, and what is neither ASCII, a control
# character nor a space
_BUT_COLON: Final = r"(?:[A-Za-z0-9\-_.!~*'()@&=+$,;]|%[0-9A-Fa-f]{2}|[^\x00-\x{9f}\p{Z}])"
_ANY: Final = rf"(?:{_BUT_COLON}|[:/])*"
_ROOTED: Final = rf"(?:[A-Za-z][A-Za-z0-9+.\-]*:/{_ANY}|/(?:(?:{_BUT_COLON}|:){_ANY})?)"
# a colon before the first slash ends a scheme; two slashes at the front name a host
_URI: Final = rf"^(?:{_ROOTED}|{_BUT_COLON}+(?:/{_ANY})?)$"
_ABSOLUTE: Final = r"^(?:/|[A-Za-z][A-Za-z0-9+.\-]*:)"

# what nearly every path looks like: to ask for more than this takes ten times as long for a
# handful of paths. It is a URI, relative, holds no escape and no part that leads elsewhere
_PLAIN: Final = r"^[A-Za-z0-9][A-Za-z0-9_=.\-]*(?:/[A-Za-z0-9_][A-Za-z0-9_=.\-]*)*$"

# decoded: the table's folder itself, out of it, or into its log
_NO_FILE: Final = (
    r"^(?:[A-Za-z][A-Za-z0-9+.\-]*:)?(?:\.?/)*\.?$|(?:^|/)\.\.(?:/|$)|\x00|"
    r"^(?:\.?/)*_delta_log(?:/|$)"
)
_IN_A_LOG: Final = r"/_delta_log(?:/|$)"
_BEYOND_ASCII: Final = r"%[89A-Fa-f][0-9A-Fa-f]"


def validate_places(change: Change) -> Problems:
    """The path of a new file is a URI that leads to a file, which is in no log. Of a file
    that is there already the log holds the path: it comes back, or goes, under that one."""
    yield from validate_named_places("add", change.new_files.column("path"))


def validate_named_places(action: str, paths: pa.ChunkedArray) -> Problems:
    """What is wrong with the places that actions name."""
    if _are_plain(paths):
        return
    lost = _lost(paths)
    if pc.any(lost).as_py():
        yield problem(
            f"The {action} of {_some(paths.filter(lost))} leads to no data file.",
            "Data files lie in the table's folder and never in its log.",
            spec="Data Files",
            remedy=REPORT,
        )
    odd = pc.and_(pc.invert(are_uris(paths)), pc.invert(lost))
    if count := pc.sum(odd).as_py():
        yield problem(
            f"{have(count, f'{action} action')} a path that is not a URI: "
            f"{_some(paths.filter(odd))}.",
            "Readers decode it to find the file, and some can no longer open the table where "
            "they cannot.",
            spec=_SPEC,
            remedy="Percent-encode it: a space is %20, a percent sign %25, a colon %3A.",
        )


def are_uris(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which paths of a log are URIs that readers can decode; null counts as one."""
    legal = pc.coalesce(pc.match_substring_regex(paths, _URI), TRUE)
    beyond = pc.coalesce(pc.match_substring_regex(paths, _BEYOND_ASCII), FALSE)
    if not pc.any(beyond).as_py():
        return legal
    # where the bytes are not text, nothing was decoded
    stayed = pc.coalesce(pc.equal(decode_in_pieces(paths), paths), FALSE)
    return pc.and_(legal, pc.invert(pc.and_(beyond, stayed)))


def are_absolute(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which paths of a log name their place without the table's root."""
    return pc.coalesce(pc.match_substring_regex(paths, _ABSOLUTE), FALSE)


def lead_to_no_file(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which paths of a log, once decoded, name a folder, leave the table or enter a log."""
    if _are_plain(paths):
        return pa.chunked_array([bool_column([False] * len(paths))])
    return _lost(paths)


def _lost(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    decoded, absolute = decode_in_pieces(paths), are_absolute(paths)
    lost = pc.match_substring_regex(decoded, _NO_FILE)
    in_a_log = pc.and_(absolute, pc.match_substring_regex(decoded, _IN_A_LOG))
    # an escaped slash at the front is one to readers, and the path no longer relative
    escaped = pc.and_(pc.invert(absolute), pc.starts_with(decoded, "/"))
    return pc.coalesce(pc.or_(lost, pc.or_(in_a_log, escaped)), FALSE)


def _are_plain(paths: pa.ChunkedArray) -> bool:
    """Whether each path is one of which nothing is wrong, that can be seen at once."""
    plain = pc.coalesce(pc.match_substring_regex(paths, _PLAIN), FALSE)
    return bool(pc.all(plain, min_count=0).as_py())


def _some(paths: pa.ChunkedArray) -> str:
    return shown(paths.slice(0, 5).to_pylist())
