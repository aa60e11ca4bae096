"""Runs programs one after the other, each in a child of a process that has torch already.

python forking.py PROGRAM ... ; prints "PID PROGRAM" for each, and ends with the first bad status.
"""

import os
import sys
from pathlib import Path

import torch

assert not torch.cuda.is_initialized()
for program in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        sys.argv = [program]
        # As a script: its variables live to the end of the process.
        globals().update(__file__=program)
        exec(compile(Path(program).read_bytes(), program, "exec"))  # noqa: S102
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(child, program, flush=True)
    if status != 0:
        sys.exit(status)
