"""Notices that the function which the script calls returns, while its variables are still alive.

What `main()` holds is gone when the interpreter ends. Nothing is called when a function returns,
but its frame object, which CPython makes when somebody looks at it, goes first: before the
variables, and with it what debuggers put into ``f_trace``. Ours is there where no debugger is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_OWN_FOLDER = f"{Path(__file__).parents[1]}/"


class _LastWords:
    """Lies in the frame object, and calls ``dies`` when it is given up."""

    def __init__(self, dies: Callable[[], None]) -> None:
        self._dies = dies

    def __call__(self, _frame: FrameType, _event: str, _argument: Any) -> None:
        """Answer a debugger that begins later: the frame need not be traced."""

    def __del__(self) -> None:
        self._dies()


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file == "<peakline>" or file.startswith(_OWN_FOLDER)


def frame_below_script() -> FrameType | None:
    """Return the frame of the function that the script has called on this thread."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        caller = frame.f_back
        if (
            caller is not None
            and caller.f_code.co_name == "<module>"
            and caller.f_globals.get("__name__") == "__main__"
        ):
            return None if _is_ours(frame) else frame
        frame = caller
    return None


class MainReturn:
    """Calls ``returns`` when such a function returns."""

    def __init__(self, recorder: ModuleType, returns: Callable[[], None]) -> None:
        """Watch the one that runs now, if it does."""
        self._recorder = recorder
        self._returns = returns
        self.watch()

    def watch(self) -> bool:
        """Watch the one that runs now; at a safe point. Whether it is a new one."""
        frame = frame_below_script()
        if frame is None or frame.f_trace is not None or sys.gettrace() is not None:
            return False
        self._recorder.await_return(frame)
        frame.f_trace = _LastWords(self._look)
        return True

    def _look(self) -> None:
        try:
            if self._recorder.is_returning():
                self._returns()
        except Exception:  # never the program's business
            pass
