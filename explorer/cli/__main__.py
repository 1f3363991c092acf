"""The command `delta-explorer`, the same as `python -m explorer.cli`."""

import atexit
import gc
import os
import sys
import threading

OBJECTS_BETWEEN_SEARCHES = 100_000
"""New objects between two searches for cycles: a line that reads a checkpoint imports and makes
half as many, of which a search frees none."""


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    # before the imports, whose objects would be looked through some twenty times
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *gc.get_threshold()[1:])
    # numpy's threads for linear algebra, which nothing here does, look for work without a pause:
    # a third of the processor's time of a line that reads a checkpoint
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from explorer.cli.main import main as run  # noqa: PLC0415  # see above

    run()


def run_process() -> None:
    """`main` in a process that is there for nothing else. It ends without taking its modules apart,
    6 ms where Arrow is among them, which frees what the system frees; temporary folders are removed
    as ever. Where threads are at work, or somebody measures, Python ends it."""
    try:
        main()
    except SystemExit as ended:
        is_alone = threading.active_count() == 1 and "pyspark" not in sys.modules
        is_measured = sys.getprofile() is not None or sys.gettrace() is not None
        if not isinstance(ended.code, int) or not is_alone or is_measured:
            raise
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            raise ended from None
        os._exit(ended.code)


if __name__ == "__main__":
    run_process()
