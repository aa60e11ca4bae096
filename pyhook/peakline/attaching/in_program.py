"""Runs in the program that `peakline attach` named, on a thread of its own: see requests.py.

A second thread, because a signal handler of the program must not run within our code, and the
program's own thread need not wait for our imports. Nothing is imported that torch has not imported:
a first `import threading` here would take this thread for the main thread.
"""

import json
import os
import sys


def main(request: dict[str, object]) -> None:
    """Do as asked (peakline.api.attached), and write the answer: a problem or the facts."""
    path = str(request["answer"])
    # Files have their names when they are complete. If one cannot be made, nobody waits any more.
    os.mkdir(f"{path}.begun")  # noqa: PTH102
    try:
        answer = _answer_to(request)
    except BaseException as error:
        answer = {"problem": f"{type(error).__name__}: {error}"}
    with open(f"{path}.part", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(json.dumps(answer))
    os.replace(f"{path}.part", path)  # noqa: PTH105


def _answer_to(request: dict[str, object]) -> dict[str, object]:
    if "torch" not in sys.modules:
        return {"problem": "it has not imported torch"}
    folder = str(request["package"])
    sys.path.insert(0, folder)
    try:
        from peakline.api import attached
    finally:
        sys.path.remove(folder)
    try:
        return attached.answer(request)
    finally:
        _forget_thread()


def _forget_thread() -> None:
    """Take this thread out of threading.enumerate(), where logging may have put it."""
    if sys.version_info < (3, 13):  # later it goes by itself
        threading = sys.modules["threading"]
        threading._active.pop(threading.get_ident(), None)
