"""Entry point of `python -m nacre`: the `nacre` command."""

import sys

from nacre.cli import main

if __name__ == "__main__":
    sys.exit(main())
