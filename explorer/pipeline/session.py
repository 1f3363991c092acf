"""The Spark session that rows are worked on with: the caller's, or a local one."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.progress import Watch, while_working

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17
_ASK_JAVA_SECONDS: Final = 60
_CONNECT: Final = "pyspark.sql.connect"

_LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    # else every operation on a column asks the JVM a dozen times for the place of its code
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Spark listens on every interface unless told
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # A cold JVM that compiles little starts with a third less work, and long scans cost more.
    # It serves whoever waits for a first answer: who scans a lot gives a session of his own.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

_lock = threading.Lock()


def choose_session(spark: Any = None) -> SparkSession:
    """The session to work with: `spark`, else the active one, else a local one.

    The local one is started when it is first needed, listens on 127.0.0.1 alone, and is
    the only one of the process. Classic and Connect sessions are taken alike, and their
    settings are left as they are.

    Raises `InvalidArgumentError` for what is not a session or was stopped, and
    `UnsupportedError` of kind `missing_dependency` where pyspark or Java are missing or
    too old, or Spark does not start.
    """
    _check_pyspark()
    if spark is not None:
        return _checked(spark)
    with _lock:
        return active_session() or _start()


def choose_watched(spark: Any, watch: Watch) -> SparkSession:
    """`choose_session` for work that can be stopped: once that was asked for it starts no
    session, and does not wait for one that is just starting."""
    if watch.cancel is not None:
        watch.cancel.check()
    _check_pyspark()
    # an active session is that of this thread, and of no other
    if spark is not None or active_session() is not None:
        return choose_session(spark)
    return while_working(choose_session, watch, "Starting Spark")


def prepare_session() -> threading.Thread:
    """Begin to start the local session, unless there is one, and do not wait for it.

    What goes wrong is told when `choose_session` is called.
    """

    def prepare() -> None:
        with contextlib.suppress(InvalidArgumentError, UnsupportedError):
            choose_session()

    thread = threading.Thread(target=prepare, name="delta-explorer-spark", daemon=True)
    thread.start()
    return thread


def is_connect(spark: SparkSession) -> bool:
    """Whether it talks to a Spark Connect server; such a session has no `sparkContext`."""
    return type(spark).__module__.startswith(_CONNECT)


def is_local(spark: SparkSession) -> bool:
    """Whether all work is done on this machine, by processes that see its files."""
    if is_connect(spark):
        return False
    master = spark.sparkContext.master or ""
    return master.startswith("local") and not master.startswith("local-cluster")


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the session tells."""
    if not is_connect(spark):
        return max(1, int(spark.sparkContext.defaultParallelism))
    # a Connect server does not say how many cores there are behind it
    return max(2, os.cpu_count() or 2)


def _check_pyspark() -> None:
    try:
        import pyspark  # the reason is the check itself
    except ImportError as error:
        raise UnsupportedError(
            "Rows in bulk need Spark, and pyspark is not installed.",
            reason="Only the log is read without it, and small numbers of rows.",
            remedy='Install it: pip install "delta-explorer[spark]". It needs Java 17 too.',
            kind="missing_dependency",
        ) from error
    found = re.match(r"\d+", pyspark.__version__)
    if found is None or int(found[0]) < 4:
        raise UnsupportedError(
            f"pyspark {pyspark.__version__[:20]} is too old.",
            reason="What reads rows through Arrow came with pyspark 4.0.",
            remedy='Install a newer one: pip install "delta-explorer[spark]".',
            kind="missing_dependency",
        )


def _checked(spark: Any) -> SparkSession:
    kind = type(spark)
    if not (kind.__module__.startswith("pyspark.sql") and kind.__name__ == "SparkSession"):
        raise InvalidArgumentError(
            f"{str(spark)[:60]!r} is not a Spark session.",
            reason=f"It is a {kind.__module__}.{kind.__name__}.",
            remedy="Give the session itself, or None for the active or a local one.",
        )
    if is_stopped(spark):
        raise InvalidArgumentError(
            "The Spark session was stopped.",
            reason="Nothing can be read with a session after its stop().",
            remedy="Start a new session, or give none for a local one.",
        )
    session: SparkSession = spark
    return session


def is_stopped(spark: Any) -> bool:
    """Whether `stop` was called on the session, or on the context that it rests on."""
    if is_connect(spark):
        return bool(spark.is_stopped)
    return spark.sparkContext._jsc is None


def active_session() -> SparkSession | None:
    """The session of this thread or process that can be used."""
    from pyspark.sql import SparkSession

    found: Any = []
    if f"{_CONNECT}.session" in sys.modules:
        connect = sys.modules[f"{_CONNECT}.session"].SparkSession
        found = [connect.getActiveSession(), getattr(connect, "_default_session", None)]
    if hasattr(SparkSession, "_instantiatedSession"):
        found += [SparkSession.getActiveSession(), SparkSession._instantiatedSession]
    return next((item for item in found if item is not None and not is_stopped(item)), None)


def _start() -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if os.environ.get("SPARK_REMOTE"):  # whoever set it means that server
        return SparkSession.builder.getOrCreate()
    java_version()
    builder = SparkSession.builder.master("local[*]").appName("delta-explorer")
    settings = {**_LOCAL_SETTINGS, "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2))}
    for name, value in settings.items():
        builder = builder.config(name, value)
    # without a UTF-8 locale the JVM cannot name files outside ASCII
    needed = {
        "LC_ALL": "C.UTF-8",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    with _environment(needed):
        try:
            return builder.getOrCreate()
        except (PySparkException, OSError, RuntimeError) as error:
            raise _does_not_start(error) from error


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables that the JVM takes over when it starts; afterwards as they were."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def java_version() -> str:
    """The main version of the Java that Spark would use; raises `UnsupportedError` of kind
    `missing_dependency` where there is none, none that starts, or one that is too old."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home[:120]!r}, without bin/java" if home else "PATH has no java"
        raise _no_java("Rows in bulk need Spark, and Spark needs Java, which was not found.", where)
    try:
        asked = subprocess.run(
            [java, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASK_JAVA_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_java("Java could not be started.", f"{java[:120]} failed: {error}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', asked.stderr + asked.stdout)
    if asked.returncode or found is None:
        raise _no_java("Java could not be started.", f"{java[:120]} -version failed")
    if int(found[1]) < OLDEST_JAVA:
        raise _no_java(
            f"Java {found[1]} is too old for Spark.",
            f"{java[:120]} is Java {found[1]}, and Spark 4 needs {OLDEST_JAVA} or newer",
        )
    return found[1]


def _no_java(problem: str, reason: str) -> UnsupportedError:
    return UnsupportedError(
        problem,
        reason=f"{reason}.",
        remedy=f"Install Java {OLDEST_JAVA}, such as openjdk-{OLDEST_JAVA}-jre-headless, or set "
        "JAVA_HOME to it. Everything that reads only the log goes on without it.",
        kind="missing_dependency",
    )


def _does_not_start(error: Exception) -> UnsupportedError:
    first_line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return UnsupportedError(
        "Spark could not be started on this machine.",
        reason=first_line.rstrip(".") + ".",
        remedy="Look at what Java wrote above; SPARK_HOME, JAVA_HOME or JAVA_TOOL_OPTIONS may "
        "name something that does not fit. Or give a session of your own.",
        kind="missing_dependency",
    )
