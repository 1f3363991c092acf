"""Whether a local folder still has the same names as when it was listed.

POSIX has the times of a folder change with every name that comes or goes. File systems
of this machine keep to that; those of a network, and those made by programs, tell of a
change late or never, and are not relied on.
"""

from __future__ import annotations

import os

from explorer.storage.ports import FolderStamp

# a file of Linux: on other systems a folder is listed again each time
_MOUNTS = "/proc/self/mountinfo"

_RELIABLE = frozenset({"ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})

# the coarsest of them count whole seconds: within one, two changes look like one
_SETTLED_NS = 2_000_000_000


def read_folder_stamp(folder: str, listed_ns: int, mounts: str = _MOUNTS) -> FolderStamp | None:
    """What tells this state of a folder from every other one.

    None where its last change came later than two seconds before `listed_ns`, a moment in
    nanoseconds since the epoch, or where its file system is not relied on: `mounts` is the
    file that says which one that is.
    """
    found = os.stat(folder)
    changed_ns = max(found.st_mtime_ns, found.st_ctime_ns)
    if changed_ns > listed_ns - _SETTLED_NS or not _is_reliable(found.st_dev, mounts):
        return None
    # the second time is the system's own, whatever tools that copy folders do to the first
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _is_reliable(device: int, mounts: str) -> bool:
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open(mounts, encoding="utf-8", errors="replace") as lines:
            mounted = [line.split() for line in lines]
    except OSError:
        return False
    # device in the third place; what is optional ends with a dash, and the type follows
    kinds = {fields[fields.index("-") + 1] for fields in mounted if fields[2] == number}
    return bool(kinds) and kinds <= _RELIABLE
