"""Imported by the warm process of `peakline` commands: all that they may need."""

import peakline._report  # noqa: F401
from peakline.commands import all_commands

all_commands()
