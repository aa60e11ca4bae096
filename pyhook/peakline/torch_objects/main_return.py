"""Notices that the function called by the script returns, while its variables are still alive.

When the interpreter ends, the variables of `main()` are gone. No hook runs at a return, but the
function's frame object, which CPython creates on inspection, is destroyed before the variables, and
with it the value of ``f_trace``, which debuggers set. We set it unless a debugger is present.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_OWN_FOLDER = f"{Path(__file__).parents[1]}/"


class _LastWords:
    """Stored in a frame object; calls ``dies`` when it is destroyed."""

    def __init__(self, dies: Callable[[], None]) -> None:
        self._dies = dies

    def __call__(self, _frame: FrameType, _event: str, _argument: Any) -> None:
        """Do nothing for a debugger that starts later: the frame need not be traced."""

    def __del__(self) -> None:
        self._dies()


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file == "<peakline>" or file.startswith(_OWN_FOLDER)


def frame_below_script() -> FrameType | None:
    """Return the frame of the function that the script called on this thread."""
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
    """Calls ``returns`` when the function called by the script returns."""

    def __init__(self, recorder: ModuleType, returns: Callable[[], None]) -> None:
        """Watch the running function, if there is one."""
        self._recorder = recorder
        self._returns = returns
        self.watch()

    def watch(self) -> bool:
        """Watch the running function, at a safe point; returns whether it is a new one."""
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
        except Exception:  # errors must not reach the program
            pass
