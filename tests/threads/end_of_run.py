"""Says what `peakline run` says at the end of a simulated run that wrote this trace.

python end_of_run.py TRACE
"""

import sys
from pathlib import Path

from peakline.commands.running.after_run import report
from peakline.launch.run_end import RunEnd

report([Path(sys.argv[1])], RunEnd(0, True, []), 10)
