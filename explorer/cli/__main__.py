"""`python -m explorer.cli`, the same as the command `delta-explorer`."""

from explorer.cli.main import main

if __name__ == "__main__":
    main()
