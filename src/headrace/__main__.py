"""`python -m headrace`."""

import sys

from headrace.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
