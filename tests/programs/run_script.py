"""Runs another script unchanged and prints torch's own peaks at the end: SCRIPT [ARGUMENTS ...]."""

import runpy
import sys
from pathlib import Path

from counters import finish_holding, peaks_of_all_devices

sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).parent)
runpy.run_path(sys.argv[0], run_name="__main__")
finish_holding(peaks=peaks_of_all_devices())
