"""Runs programs one after the other, each in a child of a process that has torch already.

python forking.py '["PROGRAM", "ARGUMENT", ...]' ...: a JSON list for each program. The Nth, from 0,
writes to N.out and N.err; "PID STATUS" is printed for each.
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch._dynamo  # any optimizer imports it, which takes as long as torch does

assert not torch.cuda.is_initialized()
for number, words in enumerate(map(json.loads, sys.argv[1:])):
    child = os.fork()
    if child == 0:
        for descriptor, ending in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{number}.{ending}", os.O_WRONLY | os.O_CREAT), descriptor)
        sys.argv = words
        # As a script: its variables live to the end of the process.
        globals().update(__file__=words[0])
        exec(compile(Path(words[0]).read_bytes(), words[0], "exec"))  # noqa: S102
        sys.exit(0)
    print(child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
