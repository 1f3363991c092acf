"""What is installed of the packages and programs that this one works with, and what each
that is missing would be for."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Final, Literal

from packaging.requirements import Requirement

from explorer.errors import UnsupportedError
from explorer.pipeline.session import OLDEST_JAVA, java_version

Status = Literal["ok", "missing", "does not fit", "broken"]

DISTRIBUTION: Final = "delta-explorer"

_PURPOSES: Final = {
    "": "the engine, the page and the command line",
    "spark": "rows in bulk: pipeline, optimize, constraints",
    "s3": "tables at s3://",
    "gcs": "tables at gs://",
    "azure": "tables at abfs:// and az://",
    "jupyter": "TableExplorer in a notebook",
}
"""What each extra is for; "" stands for what is always needed."""

# what is imported by another name than it is installed by
_MODULES: Final = {"pyyaml": "yaml"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One package or program. `wanted` is what fits, such as ``>=4.0,<5``; `found` the
    version that is there, None without any; `is_needed` says that nothing works without it."""

    name: str
    purpose: str
    status: Status
    wanted: str
    found: str | None
    is_needed: bool
    remedy: str = ""


def installation() -> list[Part]:
    """Every part, those first that are always needed. Packages are imported, and Java is
    started to ask for its version."""
    return [_python(), *_packages(), _java()]


def installation_sentence(parts: Sequence[Part]) -> str:
    """The answer in one sentence."""
    if broken := [part for part in parts if part.is_needed and part.status != "ok"]:
        return f"Something is wrong with {', '.join(part.name for part in broken)}."
    lacking = dict.fromkeys(part.purpose for part in parts if part.status != "ok")
    met = f"All requirements of {DISTRIBUTION} {version(DISTRIBUTION)} are met."
    return f"{met} Not installed, for: {'; '.join(lacking)}." if lacking else met


def _python() -> Part:
    wanted = distribution(DISTRIBUTION).metadata["Requires-Python"]
    found = platform.python_version()
    fits = Requirement(f"python{wanted}").specifier.contains(found, prereleases=True)
    return Part(
        name="Python",
        purpose=_PURPOSES[""],
        status="ok" if fits else "does not fit",
        wanted=wanted,
        found=f"{found} ({sys.executable})",
        is_needed=True,
        remedy="" if fits else f"Create an environment with Python {wanted}.",
    )


def _packages() -> Iterator[Part]:
    requirements = [Requirement(text) for text in distribution(DISTRIBUTION).requires or ()]
    for extra, purpose in _PURPOSES.items():
        yield from (_package(item, extra, purpose) for item in requirements if _is_of(item, extra))


def _is_of(item: Requirement, extra: str) -> bool:
    always, with_extra = (
        item.marker is None or item.marker.evaluate({"extra": name}) for name in ("", extra)
    )
    return always if not extra else with_extra and not always


def _package(item: Requirement, extra: str, purpose: str) -> Part:
    install = f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"
    status: Status
    found: str | None = None
    try:
        found = version(item.name)
    except PackageNotFoundError:
        status, remedy = "missing", install
    else:
        fits = item.specifier.contains(found, prereleases=True)
        problem = _import_problem(item.name) if fits else None
        status = "broken" if problem else "ok" if fits else "does not fit"
        remedy = f"{problem} {install}".strip() if problem else "" if fits else install
    return Part(
        name=item.name,
        purpose=purpose,
        status=status,
        wanted=str(item.specifier),
        found=found,
        is_needed=not extra,
        remedy=remedy,
    )


def _import_problem(name: str) -> str | None:
    """Why an installed package cannot be used, in a few words."""
    try:
        import_module(_MODULES.get(name.lower(), name.replace("-", "_")))
    except Exception as error:  # noqa: BLE001 - a broken package may raise anything
        return f"Importing it fails with {type(error).__name__}; reinstall it:"
    return None


def _java() -> Part:
    status: Status = "ok"
    found, remedy = None, ""
    try:
        found = java_version()
    except UnsupportedError as error:
        status, remedy = "missing", error.remedy
        found = None if "not found" in error.problem else error.reason
    return Part(
        name="Java",
        purpose=_PURPOSES["spark"],
        status=status,
        wanted=f">={OLDEST_JAVA}",
        found=found,
        is_needed=False,
        remedy=remedy,
    )
