"""All that delta-explorer depends on, as it is installed beside it.

    python -m tests.release.dependencies

writes two files anew from the environment that it runs in: `constraints.txt`, the versions
that the tests passed with, and `docs/licences.md`, the licences of what users install.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
LICENCES = ROOT / "docs" / "licences.md"
EXTRAS = ("spark", "s3", "gcs", "azure", "jupyter")
"""What users may install; `dev` and `docs` are for this project alone."""

# what pip brings by itself, and what only other systems need, is not pinned
_PYTHONS = ("3.11", "3.12", "3.13")

# the words of classifiers and of free texts, as SPDX says them
_SPDX = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One distribution; `brought_by` are the extras that need it, empty for the product."""

    name: str
    version: str
    licence: str
    brought_by: tuple[str, ...]


def read_project() -> dict[str, object]:
    """The `[project]` table of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, object] = tomllib.loads(text)["project"]
    return project


def find_dependencies(extras: tuple[str, ...] = EXTRAS) -> list[Dependency]:
    """Direct and indirect ones by name, of the product and of some of its extras."""
    project = read_project()
    ours: list[str] = project["dependencies"]  # type: ignore[assignment]
    optional: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    core = _closure(ours)
    brought: dict[str, list[str]] = {name: [] for name in core}
    for extra in extras:
        for name in _closure(optional[extra]) - core:
            brought.setdefault(name, []).append(extra)
    return [_describe(name, tuple(brought[name])) for name in sorted(brought)]


def _closure(lines: list[str]) -> set[str]:
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    left = [Requirement(line) for line in lines]
    while left:
        wanted = left.pop()
        name = canonicalize_name(wanted.name)
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                needs = distribution(name).requires or []
            except PackageNotFoundError:
                continue
            found.add(name)
            left += [r for r in map(Requirement, needs) if _holds(r, extra)]
    return found


def _holds(wanted: Requirement, extra: str) -> bool:
    """Whether a marker holds on any Python that we run on."""
    if wanted.marker is None:
        return not extra
    environments = [{"extra": extra, "python_version": python} for python in _PYTHONS]
    return any(wanted.marker.evaluate(environment) for environment in environments)


def _describe(name: str, brought_by: tuple[str, ...]) -> Dependency:
    found = distribution(name)
    return Dependency(
        name=name,
        version=found.version,
        licence=_licence(found),
        brought_by=brought_by,
    )


def _licence(found: Distribution) -> str:
    """What the distribution says of itself, as SPDX where it can be told."""
    about = found.metadata
    if said := about.get("License-Expression"):
        return str(said)
    classified = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    free = (about.get("License") or "").strip().splitlines()
    words = classified or free[:1] or ["not said"]
    return " OR ".join(_SPDX.get(word.lower(), word) for word in words)


def render_constraints() -> str:
    """`name==version` for every dependency of the product and of all extras."""
    extras = tuple(read_project()["optional-dependencies"])  # type: ignore[arg-type, call-overload]
    lines = [f"{found.name}=={found.version}" for found in find_dependencies(extras)]
    return (
        "# The versions that the tests passed with, of the product and of all its extras:\n"
        "#     pip install -c constraints.txt .\n"
        "# Made by: python -m tests.release.dependencies\n" + "\n".join(lines) + "\n"
    )


def render_licences() -> str:
    """The page of licences."""
    rows = [
        f"| {found.name} | {found.licence} "
        f"| {', '.join(f'`{extra}`' for extra in found.brought_by) or 'always'} |"
        for found in find_dependencies()
    ]
    return (
        "# Licences\n\n"
        "delta-explorer is under the Apache License 2.0. What is installed with it, directly or "
        "because something else needs it, is listed here with the licence that it states for "
        "itself, and with the extra that brings it. None of it is part of our wheel, "
        "but for the font Roboto (Apache License 2.0) in `static/fonts`.\n\n"
        "| Package | Licence | Installed |\n|---|---|---|\n" + "\n".join(rows) + "\n\n"
        "The list is made by `python -m tests.release.dependencies`, and a test holds it "
        "against what is installed.\n"
    )


def listed_names(page: str) -> set[str]:
    """The packages that the page of licences names."""
    return set(re.findall(r"^\| ([a-z0-9-]+) \|", page, re.MULTILINE))


if __name__ == "__main__":
    CONSTRAINTS.write_text(render_constraints(), encoding="utf-8")
    LICENCES.write_text(render_licences(), encoding="utf-8")
