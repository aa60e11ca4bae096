"""The magics: a cell runs as without them; its page, or a view of the memory, stands below it."""

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


def test_a_live_view_shows_lines_and_variables_while_cells_run(lab: Lab) -> None:
    said = lab.once("shows_what_lives.py", recorded=False).said
    views, held = said["views"], said["held"]
    first, *updates = views
    assert (first["during"], first["update"]) == ("view", False)
    assert all(one["update"] for one in updates)
    assert "long" in [one["during"] for one in updates[:-1]]  # while the cell ran
    assert not [one for one in views if one["during"] == "later"]
    at_end = {one["during"]: one["data"] for one in views}
    for cell in ("mine", "shown", "long", "fails"):
        assert f"GPU memory: {size_of(held[cell])} held now" in at_end[cell]["text/plain"]
    last = at_end["fails"]["text/plain"]
    assert f"peak {size_of(said['peak'])}" in last
    rows = [line.split(maxsplit=2) for line in last.splitlines()[1:]]
    assert ["20.00", "MB", "In [5], line 2 (fails)"] in rows
    assert ["16.00", "MB", "In [4], line 1"] in rows
    assert ["12.00", "MB", "_, Out[3]"] in rows
    assert ["16.00", "MB", "more[0]"] in rows
    markup = at_end["fails"]["text/html"]
    assert not re.search("<script|src=|href=", markup)
    assert "<td>In [4], line 1</td>" in markup


def test_holders_have_the_names_of_the_notebook(lab: Lab) -> None:
    said = lab.once("shows_what_lives.py", recorded=False).said
    holders = {size >> 20: paths for size, paths in said["holders"]}
    [inner] = holders[20]
    assert re.fullmatch(r"inner of fails \(.*:3\), in the traceback of the last exception", inner)
    assert holders[16] == ["more[0]"]
    assert "Out[3]" in holders[12]
    assert not [path for paths in holders.values() for path in paths if "Shell" in path]
