"""What all tests share: where the corpus lies, which of them run today, how they are shared out
among the workers, and the rule that nothing is skipped in CI."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.distribution import BROWSER, JVM, pytest_xdist_make_scheduler
from tests.minutes import Leader, Meter, sampled
from tests.sampling import EVERYTHING, SEED, add_turns, sample_tests

__all__ = ["pytest_xdist_make_scheduler"]

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("DELTA_EXPLORER_CORPUS", ROOT.parent / "shared" / "corpus"))
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}

# xdist tells its workers the width of the terminal; the command line would obey.
os.environ.pop("COLUMNS", None)

# Two loaded cores: a deadline would judge the machine, not the code.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("local", **_COMMON)
settings.register_profile(
    # other examples each day; see `pytest_configure`
    "ci",
    database=None,
    print_blob=True,
    max_examples=100 if EVERYTHING else 30,
    **_COMMON,
)
settings.load_profile("ci" if IN_CI else "local")

# Marker -> the folders and fixtures whose tests carry it.
_HEAVY = {"browser": {"browser", "notebooks"}, "spark": {"spark"}}


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the conformance corpus."""
    if not (CORPUS / "manifest.json").is_file():
        pytest.skip(f"no corpus at {CORPUS}: set DELTA_EXPLORER_CORPUS to its folder")
    return CORPUS


_METER = pytest.StashKey[Meter]()


def _no_sync(descriptor: int) -> None:
    """No power cut will meet the tests' tables, and each waits for the disk several times."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Measures what the tests take, in each worker and where there is none."""
    if not EVERYTHING:
        os.fsync = _no_sync  # type: ignore[assignment]
    if IN_CI:
        config.option.hypothesis_seed = str(SEED)
    is_worker = hasattr(config, "workerinput")
    works = is_worker or not config.getoption("numprocesses", None)
    meter = Meter() if works else None
    if meter is not None:
        config.stash[_METER] = meter
        config.pluginmanager.register(meter, "minutes")
    if not is_worker:
        config.pluginmanager.register(Leader(meter), "minutes-of-all")


def pytest_report_header() -> str:
    """The seed comes first, so that a run that is cut off has told it."""
    return sampled()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what starts a browser or a JVM for `tests.distribution`, and leaves out the tests
    that have their turn with another seed."""
    for item in items:
        names = {*getattr(item, "fixturenames", ()), *item.path.relative_to(ROOT).parts}
        for kind, signs in _HEAVY.items():
            if not signs.isdisjoint(names):
                item.add_marker(kind)
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group(JVM))
        elif item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group(f"{BROWSER}{item.path.stem}"))
    add_turns(items)
    kept = sample_tests(items, config.args)
    if left_out := len(items) - len(kept):
        running = {id(item) for item in kept}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in running])
        config.stash[_METER].left_out = left_out
    items[:] = kept


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the collector of garbage need not go
    through millions of objects again and again, which took a seventh of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


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
