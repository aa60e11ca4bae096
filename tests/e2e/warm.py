"""Runs programs in forked children of a process that has imported what takes seconds.

python warm.pyc HERE FOLDER NAME MODULE...: finds the modules in HERE, too, and listens at
FOLDER/NAME. Compiled under a name that no report takes for a file of the user: its one frame is the
root of every Python stack.
"""

import sys

sys.path[0] = sys.argv.pop(1)
from warm_server import next_program  # noqa: E402

exec(next_program(globals()))  # noqa: S102
