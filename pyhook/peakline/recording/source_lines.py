"""Lines of source files as they were when a program ran: for the HTML page and `peakline tree`."""

from __future__ import annotations

from pathlib import Path


def read_unchanged(path: str, start_ns: int) -> list[str]:
    """Return the lines of a Python file; none when it is gone or younger than the run."""
    file = Path(path)
    try:
        if file.suffix != ".py" or file.stat().st_mtime_ns > start_ns:
            return []
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):  # a name from a trace may be no name of a file
        return []
