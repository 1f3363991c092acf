"""The command `delta-explorer`, the same as `python -m explorer.cli`."""

import gc
import os

from explorer.cycle_collector import OBJECTS_BETWEEN_SEARCHES


def main() -> None:
    """Run the command line with the arguments of the process, and exit."""
    # before the imports, whose objects would be looked through some twenty times
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *gc.get_threshold()[1:])
    # numpy's threads for linear algebra, which nothing here does, look for work without a pause:
    # a third of the processor's time of a line that reads a checkpoint
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from explorer.cli.main import main as run  # noqa: PLC0415  # see above

    run()


if __name__ == "__main__":
    main()
