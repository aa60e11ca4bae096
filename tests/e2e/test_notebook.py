"""The cell magic: the cell runs as without it, and its page stands below it."""

from __future__ import annotations

import re

import pytest
from lab import Lab
from peakline.base.sizes import size_of

pytest.importorskip("IPython", reason="pip install ipython")


def test_a_cell_shows_its_own_page(lab: Lab) -> None:
    run = lab.run("runs_a_cell.py", recorded=False)
    said = run.said
    assert said["answer"] == 42
    (frame,) = said["shown"]
    found = re.search(r'src="(peakline-results/\w+)\.html#tab=flame"', frame)
    assert found, frame
    assert 'height="500"' in frame
    # Without the page's file: a picture and a table, as markup and as text.
    still = frame.partition("<details>")[0]
    assert not re.search("src=|href=|<script|<style|style=", still)
    assert "<svg " in still
    assert "at the peak" in still
    folder = run.trace.parent
    trace, page = folder / f"{found[1]}.peak", folder / f"{found[1]}.html"
    assert f"!peakline table {found[1]}.peak" in said["text"]
    table = lab.table(trace)
    assert table["peak_bytes"] == said["peak"]
    for row in table["rows"]:
        assert f"<td>{size_of(row['bytes'])}</td>" in still
        assert size_of(row["bytes"]) in said["plain"][0]
    keys = {row["key"].partition(" ")[0].rpartition(":")[2] for row in table["rows"]}
    assert keys == {"2", "3", "untraced"}  # lines of the cell, and what was there before it
    assert "peakline</title>" in page.read_text()
    assert not said["wrong_ran"]
    assert "--tab: invalid choice: 'nothing'" in said["usage"]
    assert said["raised"]
