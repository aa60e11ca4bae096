"""Lines of source files that are unchanged since the run: for the HTML page and `peakline tree`."""

from __future__ import annotations

from pathlib import Path


def read_unchanged(path: str, start_ns: int) -> list[str]:
    """Return the lines of a Python file; none if it is gone or newer than the run."""
    file = Path(path)
    try:
        if file.suffix != ".py" or file.stat().st_mtime_ns > start_ns:
            return []
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):  # a name from a trace may be no valid file name
        return []
