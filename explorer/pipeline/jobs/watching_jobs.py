"""Progress of jobs, and their end on request, for classic sessions and Connect alike."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.session import choose_session, is_connect
from explorer.progress import UNWATCHED, Cancel, Progress, ProgressCallback, Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS_BETWEEN_LOOKS: Final = 0.2
_GROUP_PROPERTIES: Final = (
    "spark.jobGroup.id",
    "spark.job.description",
    "spark.job.interruptOnCancel",
)


_CURRENT: ContextVar[Watch] = ContextVar("watch", default=UNWATCHED)


def current_watch() -> Watch:
    """What stops the work of this thread within `watching`, for what is done before a job."""
    return _CURRENT.get()


@contextlib.contextmanager
def watching(
    spark: Any = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    label: str = "Working on rows",
) -> Iterator[None]:
    """Reports the tasks of the actions inside, and stops them once `cancel` is raised.

    For the actions of this thread on DataFrames of this package, or on any others::

        with pipeline.watching(progress=print, cancel=cancel, label="Counting"):
            frame.count()

    `progress` is called from another thread with tasks done and the total known so far,
    and at the end from this one. What Spark raises becomes a `DeltaError`, a stop
    `CancelledError`; within two seconds of it nothing of the work is left.
    """
    session = choose_session(spark)
    if cancel is not None:
        cancel.check()
    jobs: _Jobs = _TaggedJobs(session) if is_connect(session) else _GroupedJobs(session, label)
    report = _Report(progress, label)
    ended = threading.Event()
    looker = threading.Thread(
        target=_look_on,
        args=(jobs, report, cancel, ended),
        name="delta-explorer-watch",
        daemon=True,
    )
    token = _CURRENT.set(Watch(cancel=cancel))  # progress counts tasks
    try:
        with clear_errors(label), jobs.named():
            looker.start()
            yield
    finally:
        _CURRENT.reset(token)
        ended.set()
        looker.join()
    report.end()


@contextlib.contextmanager
def watched(spark: SparkSession, watch: Watch, label: str) -> Iterator[None]:
    """`watching` for work that is handed a `Watch`, without a thread where nobody looks on."""
    if watch.progress is None and watch.cancel is None:
        with clear_errors(label):
            yield
        return
    with watching(spark, progress=watch.progress, cancel=watch.cancel, label=label):
        yield


class _Report:
    """Hands on what is new."""

    def __init__(self, progress: ProgressCallback | None, label: str) -> None:
        self._progress = progress
        self._label = label
        self._last = (-1, -1)

    def tell(self, done: int, total: int) -> None:
        """So many tasks of those known so far are done."""
        if self._progress is not None and total and (done, total) != self._last:
            self._last = (done, total)
            self._progress(Progress(done=done, total=total, label=self._label))

    def end(self) -> None:
        """All of them are."""
        total = max(self._last[1], 1)
        self.tell(total, total)


class _Jobs(Protocol):
    """The jobs of one thread from when `named` was entered."""

    def named(self) -> contextlib.AbstractContextManager[None]:
        """Give them a name of their own while inside."""
        ...

    def look(self, report: _Report) -> None:
        """Report how far they are."""
        ...

    def stop(self) -> None:
        """End those that run, and those that come."""
        ...


def _look_on(jobs: _Jobs, report: _Report, cancel: Cancel | None, ended: threading.Event) -> None:
    while not ended.wait(_SECONDS_BETWEEN_LOOKS):
        # a job may begin after the flag was raised: until the end each look stops what runs
        with contextlib.suppress(Exception):
            if cancel is not None and cancel.is_cancelled:
                jobs.stop()
            jobs.look(report)


class _GroupedJobs:
    """Jobs of a classic session, by their group."""

    def __init__(self, spark: SparkSession, label: str) -> None:
        self._context = spark.sparkContext
        self._group = f"delta-explorer-{uuid.uuid4()}"
        self._label = label
        self._ended: dict[int, int] = {}

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Properties of the thread, which are put back."""
        context = self._context
        before = {name: context.getLocalProperty(name) for name in _GROUP_PROPERTIES}
        context.setJobGroup(self._group, self._label, interruptOnCancel=True)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):  # the context may be stopped by now
                for name, value in before.items():
                    context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None unsets

    def look(self, report: _Report) -> None:
        """By the stages of the group's jobs; of one that ended nothing is asked again, for each
        question is a call into the JVM, which has work to do."""
        tracker = self._context.statusTracker()
        done = total = 0
        for job in tracker.getJobIdsForGroup(self._group):
            if job in self._ended:
                done, total = done + self._ended[job], total + self._ended[job]
                continue
            found = tracker.getJobInfo(job)
            if found is None:
                continue
            stages = [tracker.getStageInfo(stage) for stage in found.stageIds]
            completed = sum(stage.numCompletedTasks for stage in stages if stage is not None)
            known = sum(stage.numTasks for stage in stages if stage is not None)
            if found.status == "SUCCEEDED":
                completed = self._ended[job] = known
            done, total = done + completed, total + known
        report.tell(min(done, total), total)

    def stop(self) -> None:
        """Cancel the group."""
        self._context.cancelJobGroup(self._group)


class _TaggedJobs:
    """Operations of a Connect session, by a tag."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._tag = f"delta-explorer-{uuid.uuid4()}"
        self._told = (0, 0)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """A tag of the thread, and a handler for what the server reports meanwhile."""
        handler = self._handler()
        self._spark.addTag(self._tag)
        self._spark.registerProgressHandler(handler)
        try:
            yield
        finally:
            self._spark.removeProgressHandler(handler)
            self._spark.removeTag(self._tag)

    def _handler(self) -> Callable[..., None]:
        def handle(stages: Any, **_: Any) -> None:
            done = sum(int(stage.num_completed_tasks) for stage in stages or ())
            self._told = (done, sum(int(stage.num_tasks) for stage in stages or ()))

        return handle

    def look(self, report: _Report) -> None:
        """What the server said last."""
        report.tell(*self._told)

    def stop(self) -> None:
        """Interrupt the tag."""
        self._spark.interruptTag(self._tag)
