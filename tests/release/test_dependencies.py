"""Constraints, licences and the versions that are allowed, held against each other."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release.dependencies import (
    CONSTRAINTS,
    LICENCES,
    Dependency,
    find_dependencies,
    listed_names,
    read_project,
)
from tests.release.install import read_oldest

PINNED = dict(
    line.split("==")
    for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    if "==" in line and not line.startswith("#")
)
PROJECT = read_project()
DIRECT = [
    Requirement(line)
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())  # type: ignore[attr-defined, misc]
    for line in lines
]
COPYLEFT = re.compile(r"\bA?GPL|GNU (Affero )?General Public", re.IGNORECASE)


@pytest.fixture(scope="module")
def installed() -> list[Dependency]:
    return find_dependencies()


@pytest.mark.parametrize("wanted", DIRECT, ids=str)
def test_the_constraints_are_allowed_by_the_project(wanted: Requirement) -> None:
    assert wanted.specifier.contains(PINNED[canonicalize_name(wanted.name)])


def test_every_dependency_is_pinned_and_its_licence_listed(installed: list[Dependency]) -> None:
    """Where this fails: python -m tests.release.dependencies"""
    page = listed_names(LICENCES.read_text(encoding="utf-8"))
    assert {found.name for found in installed} <= set(PINNED)
    assert {found.name for found in installed} == page


def test_a_licence_that_is_listed_is_the_one_that_the_package_states(
    installed: list[Dependency],
) -> None:
    page = LICENCES.read_text(encoding="utf-8")
    lines = [f"| {found.name} | {found.licence} |" for found in installed]
    assert [line for line in lines if line not in page] == []


def test_no_licence_asks_more_of_a_user_than_ours(installed: list[Dependency]) -> None:
    assert [f for f in installed if COPYLEFT.search(f.licence)] == []
    assert [f for f in installed if f.licence in {"", "not said", "UNKNOWN"}] == []


def test_every_direct_dependency_has_a_least_version() -> None:
    assert len(read_oldest()) == len(PROJECT["dependencies"])  # type: ignore[arg-type]
