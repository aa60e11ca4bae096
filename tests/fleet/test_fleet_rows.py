"""Lines of reports as rows: two files that are one when normalised are one line."""

from __future__ import annotations

from typing import Any

from peakline.fleet.rows import _site_rows


def line(file: str, size: int) -> dict[str, Any]:
    place = {"file": file, "line": 3, "function": "f", "qualified_name": "C.f", "native": False}
    held = {"bytes": size, "count": 2, "median_bytes": size // 2, "backward_bytes": 1}
    return {"key": file, "location": place, **held}


def test_two_copies_of_a_file_are_one_line() -> None:
    files = ["/a/site-packages/x/y.py", "/b/site-packages/x/y.py", "/b/site-packages/x/z.py"]
    document = {"rows": {"line": [line(files[0], 100), line(files[1], 30), line(files[2], 8)]}}
    allocated = {files[0]: 1000, files[1]: 300}
    first, second = _site_rows(7, document, {}, allocated)
    assert (first["file"], first["line"], first["function"]) == ("x/y.py", 3, "C.f")
    assert (first["bytes"], first["blocks"], first["backward_bytes"]) == (130, 4, 2)
    assert (first["median_bytes"], first["total_allocated_bytes"]) == (50, 1300)
    assert (second["file"], second["bytes"], second["total_allocated_bytes"]) == ("x/z.py", 8, None)


def test_a_row_without_a_line_keeps_its_name() -> None:
    named = {**line("", 5), "key": "untraced", "location": None}
    [row] = _site_rows(7, {"rows": {"line": [named]}}, {}, {})
    assert (row["file"], row["line"], row["function"]) == ("", 0, "untraced")
