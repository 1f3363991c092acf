"""The command `delta-explorer`, the same as `python -m explorer.cli`."""

import atexit
import gc
import os
import sys
import threading

OBJECTS_OF_A_LINE = 100_000
"""New objects between two searches for cycles: a line that reads a checkpoint imports and makes
half as many, of which a search frees none. A server goes back to what suits many requests."""


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    # before the imports, whose objects would be looked through some twenty times
    gc.set_threshold(OBJECTS_OF_A_LINE, *gc.get_threshold()[1:])
    # numpy's threads for linear algebra, which nothing here does, look for work without a pause:
    # a third of the processor's time of a line that reads a checkpoint
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from explorer.cli.main import main as run  # noqa: PLC0415  # see above

    run()


def run_process() -> None:
    """`main` in a process that is there for nothing else. It ends without taking its modules apart,
    6 ms where Arrow is among them, which frees what the system frees; temporary folders are removed
    as ever. Where threads are at work, or somebody measures or goes on by hand, Python ends it. It
    also ends a program that runs this module as `__main__` within itself."""
    try:
        main()
    except SystemExit as ended:
        is_alone = threading.active_count() == 1 and "pyspark" not in sys.modules
        if not isinstance(ended.code, int) or not is_alone or _is_watched():
            raise
        atexit._run_exitfuncs()
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):  # Python's own end says what it thinks of a closed stream
            raise ended from None
        os._exit(ended.code)


def _is_watched() -> bool:
    if sys.flags.inspect or os.environ.get("PYTHONINSPECT"):
        return True
    # Python 3.12 has a place of its own for tools that measure, six of them
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and any(monitoring.get_tool(number) for number in range(6)):
        return True
    return sys.getprofile() is not None or sys.gettrace() is not None


if __name__ == "__main__":
    run_process()
