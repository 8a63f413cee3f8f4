"""Run the command line with `python -m sessionbrowse`."""

import sys

from sessionbrowse.cli import main

if __name__ == "__main__":
    sys.exit(main())
