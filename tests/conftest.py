"""What all tests share: where the corpus lies, what may not run twice at once,
and the rule that nothing is skipped in CI."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("DELTA_EXPLORER_CORPUS", ROOT.parent / "shared" / "corpus"))
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}

# xdist tells its workers the width of the terminal; the command line would obey.
os.environ.pop("COLUMNS", None)

# Two loaded cores: a deadline would judge the machine, not the code.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("local", **_COMMON)
settings.register_profile("ci", derandomize=True, print_blob=True, **_COMMON)
settings.load_profile("ci" if IN_CI else "local")

# Marker -> the folders and fixtures whose tests carry it.
_HEAVY = {"browser": {"browser", "notebooks"}, "spark": {"spark"}}


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the conformance corpus."""
    if not (CORPUS / "manifest.json").is_file():
        pytest.skip(f"no corpus at {CORPUS}: set DELTA_EXPLORER_CORPUS to its folder")
    return CORPUS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what starts a browser or a JVM, and gives all of it to one worker.

    Two of them at once on two cores run into each other's time limits.
    """
    for item in items:
        names = {*getattr(item, "fixturenames", ()), *item.path.relative_to(ROOT).parts}
        for kind, signs in _HEAVY.items():
            if not signs.isdisjoint(names):
                item.add_marker(kind)
        if any(item.get_closest_marker(kind) for kind in _HEAVY):
            item.add_marker(pytest.mark.xdist_group("heavy"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure in CI, where everything can be installed."""
    report = yield
    expected_failure = hasattr(report, "wasxfail")
    if IN_CI and report.skipped and not expected_failure and not _may_skip(item):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself as a whole."""
    report = yield
    if IN_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be: {_reason(report)}"
    return report


def _may_skip(item: pytest.Item) -> bool:
    """Whether the test carries `may_skip` with a reason."""
    marker = item.get_closest_marker("may_skip")
    return bool(marker and (marker.kwargs.get("reason") or marker.args))


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    return where[2] if isinstance(where, tuple) else str(where)
