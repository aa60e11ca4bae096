"""``python -m peakline``: the command line."""

import sys

from peakline.commands import main

if __name__ == "__main__":
    sys.exit(main())
