"""A page of several files: peaks by rank and phase, differences, against the engine's tables."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import peakline._report as engine
import pytest
from lab import PROGRAMS, Lab, Run
from peakline.base.sizes import size_of
from peakline.pages.files import ComparedLines, files_data, heaviest
from peakline.pages.page import DeviceData, PageContent, make_page
from peakline.runs.compare import compare_rows, process_of
from peakline.runs.members import member_of
from reading import lines_shown
from shown import Shown
from test_page import SAID, TABS, bytes_of

Show = Callable[..., Shown]

HOSTILE_FILE = "<b onclick=x>\"'\u202e&amp;{{summary}}\u2066.peak"
KEYS = {"line": "line", "module": "module", "operator": "op", "category": "category"}
PEAKS = """() => [...document.querySelectorAll("#ranks .scrolls tbody tr")].map((row) =>
    [...row.cells].map((cell) => cell.title || cell.textContent))"""
CHANGES = """() => [...document.querySelectorAll("#differences tbody tr")].map((row) =>
    [row.querySelector(".place").firstChild.textContent, row.cells[0].title, row.cells[2].title,
     row.cells[3].title])"""


def signed(text: str) -> int:
    return bytes_of(text.replace("\u2212", "-"))


def opened(show: Show, file: Path, tab: str, **how: Any) -> Shown:
    shown = show(file=file, address=f"#tab={tab}", **how)
    shown.until(f"document.querySelector('#{tab} tbody tr')")
    shown.drawn()
    return shown


def test_ranks_have_the_peaks_of_the_engine(
    show: Show, lab: Lab, rank_runs: list[Run], ranks_file: Path
) -> None:
    shown = opened(show, ranks_file, "ranks")
    heads = shown.page.evaluate(
        "[...document.querySelectorAll('#ranks .scrolls th')].map((one) => one.textContent)"
    )
    rows = shown.page.evaluate(PEAKS)
    by_rank = [rank_runs[2], rank_runs[0], rank_runs[1]]
    assert [row[0] for row in rows] == [str(run.trace) for run in by_rank]
    for row, run in zip(rows, by_rank, strict=True):
        said = dict(zip(heads, row, strict=True))
        assert bytes_of(said["Peak"]) == run.said["peak"]
        phases = json.loads(lab.report("phases", run.trace, "--json"))
        for total in phases["totals"]:
            assert said[total["name"]].startswith(f"{total['peak_bytes']:,} bytes at ")
        assert len(phases["totals"]) == len(heads) - 4
    peaks = sorted(run.said["peak"] for run in rank_runs)
    amounts = "[...document.querySelectorAll('#ranks .big b, #ranks .lead b')]"
    figures = shown.page.evaluate(f"{amounts}.map((one) => +one.dataset.bytes)")
    assert figures == [peaks[2], peaks[0], peaks[1]]
    assert shown.page.inner_text("#ranks .sub") == "The other tabs show rank 2."
    shown.tab("lines")
    assert int(shown.page.evaluate(SAID)["bytes"]) == peaks[2]
    assert shown.console == []


@pytest.mark.parametrize("by", KEYS)
def test_differences_sum_to_that_of_the_peaks(
    show: Show, lab: Lab, rank_runs: list[Run], ranks_file: Path, by: str
) -> None:
    shown = opened(show, ranks_file, "differences")
    assert shown.page.input_value("#differences select >> nth=0") == "0"
    assert shown.page.input_value("#differences select >> nth=1") == "2"
    shown.click(f'#differences .choice button:text-is("{by}")')
    for before, after in ((0, 2), (2, 0), (1, 0)):
        shown.select_option("#differences select >> nth=0", str(before))
        shown.select_option("#differences select >> nth=1", str(after))
        tables = [lab.table(rank_runs[i].trace, "--by", KEYS[by]) for i in (before, after)]
        levels = [{row["key"]: row["bytes"] for row in one["rows"]} for one in tables]
        keys = {*levels[0], *levels[1]}
        expected = sorted(
            [levels[0].get(key, 0), levels[1].get(key, 0)]
            for key in keys
            if levels[0].get(key, 0) != levels[1].get(key, 0)
        )
        rows = shown.page.evaluate(CHANGES)
        assert sorted([bytes_of(was), bytes_of(now)] for _, _, was, now in rows) == expected
        changes = [signed(change) for _, change, _, _ in rows]
        assert changes == [bytes_of(now) - bytes_of(was) for _, _, was, now in rows]
        assert all(abs(a) >= abs(b) for a, b in pairwise(changes))
        of_peaks = rank_runs[after].said["peak"] - rank_runs[before].said["peak"]
        note = shown.page.evaluate("document.querySelector('#differences .note').dataset.bytes")
        assert sum(changes) == int(note) == of_peaks
    assert shown.console == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_a_page_of_several_files(
    show: Show, ranks_file: Path, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    script = next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text()
    for tab in ("ranks", "differences"):
        shown = opened(show, ranks_file, tab, theme=theme)
        shown.page.evaluate(script)
        found = shown.page.evaluate("axe.run()")["violations"]
        assert [(tab, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


@pytest.mark.parametrize("width", [280, 390, 1440])
def test_no_tab_of_several_files_is_wider_than_the_screen(
    show: Show, ranks_file: Path, width: int
) -> None:
    for tab in ("ranks", "differences"):
        shown = opened(show, ranks_file, tab, width=width)
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width, tab


def test_names_of_files_are_shown_and_not_obeyed(
    show: Show, lab: Lab, rank_runs: list[Run]
) -> None:
    folder = lab.folder / "hostile"
    folder.mkdir()
    named = folder / HOSTILE_FILE
    shutil.copy(rank_runs[0].trace, named)
    file = lab.folder / "hostile.html"
    # The same rank twice: files are called by their names.
    made = lab.peakline("html", str(named), str(rank_runs[0].trace), "-o", str(file))
    assert made.returncode == 0, made.stderr
    shown = opened(show, file, "ranks")
    assert HOSTILE_FILE in shown.page.text_content("#ranks")
    shown.tab("differences")
    assert "The same peak" in shown.page.inner_text("#differences")
    assert shown.page.evaluate("document.querySelectorAll('main [onclick]').length") == 0
    assert shown.console == []


def test_every_file_of_a_page_may_be_opened(
    show: Show, lab: Lab, rank_runs: list[Run], ranks_file: Path
) -> None:
    file = lab.folder / "each.html"
    made = lab.peakline("html", "--each", *(str(run.trace) for run in rank_runs), "-o", str(file))
    assert made.returncode == 0, made.stderr
    peak = "document.querySelector('#summary .answer:not([hidden]) .big').textContent"
    shown = opened(show, file, "ranks")
    assert shown.page.evaluate(peak) == f"{size_of(rank_runs[1].said['peak'])} at the peak"
    shown.click("#ranks .scrolls tbody tr:first-child .link")  # rank 0
    shown.until("document.querySelector('#ranks .scrolls tbody tr:first-child').className === 'on'")
    assert shown.page.evaluate(peak) == f"{size_of(rank_runs[2].said['peak'])} at the peak"
    assert "The other tabs show rank 0." in shown.page.inner_text("#ranks")
    shown.tab("lines")
    rows = lab.table(rank_runs[2].trace)["rows"]
    assert [size for _, size, _ in lines_shown(shown)] == [row["bytes"] for row in rows]
    again = show(file=file, address=shown.page.evaluate("location.hash"))
    assert [size for _, size, _ in lines_shown(again)] == [row["bytes"] for row in rows]
    assert shown.console == again.console == []
    other = opened(show, ranks_file, "ranks")
    assert "peakline html --each" in other.page.inner_text("#ranks")


def test_a_thousand_ranks_are_shown_at_once(show: Show, lab: Lab, rank_runs: list[Run]) -> None:
    trace = engine.Trace(str(rank_runs[0].trace))
    outlines = []
    text = trace.outline()
    for rank in range(1024):
        outline = json.loads(text)
        outline["meta"]["rank"] = str(rank)
        outline["file"] = f"/job/rank-{rank}.peak"
        outline["chosen"]["peak_bytes"] += (rank * 7919 % 1024) << 20
        outlines.append(json.dumps(outline))
    page = make_page(
        [DeviceData(*trace.page())],
        PageContent(files=files_data(outlines, heaviest(outlines))),
    )
    file = lab.folder / "thousand.html"
    file.write_text(page)
    shown = opened(show, file, "ranks")
    middle = json.loads(text)["chosen"]["peak_bytes"] + (1023 << 19)  # between 511 and 512 MB
    assert f"the median {size_of(middle)}." in shown.page.inner_text("#ranks")
    box = shown.page.locator("#ranks canvas").bounding_box()
    assert 1000 < box["height"] < 3000
    shown.page.mouse.move(box["x"] + box["width"] * 0.95, box["y"] + 22 + 511.5)
    assert "rank 511" in shown.page.inner_text("#tip")
    assert shown.page.locator("#ranks .scrolls tbody tr").count() == 100
    shown.click("#ranks .scrolls tfoot button")
    assert shown.page.locator("#ranks .scrolls tbody tr").count() == 1024


def test_one_file_has_no_tabs_that_compare(show: Show) -> None:
    for tab in ("ranks", "differences"):
        shown = show(address=f"#tab={tab}")
        assert shown.page.locator(f"#tab-{tab}").count() == 0
        assert shown.page.evaluate("location.hash") == "#tab=summary"
        assert shown.page.is_visible("#summary")
        assert shown.console == []


def test_what_several_files_cannot_do_is_said(lab: Lab, rank_runs: list[Run]) -> None:
    first, second = (str(run.trace) for run in rank_runs[:2])
    output = str(lab.folder / "never.html")
    bad = lab.folder / "bad.peak"
    bad.write_text("no trace")
    for words, said in (
        ((first, second), "name it with -o"),
        ((first, second, "-o", output, "--from", "1"), "give one FILE"),
        ((first, first, "-o", output), "is given twice"),
        ((first, str(bad), "-o", output), "bad.peak"),
    ):
        result = lab.peakline("html", *words)
        assert (result.returncode, result.stdout) == (2, "")
        assert said in result.stderr and len(result.stderr.splitlines()) == 1
    assert not Path(output).exists()


def test_every_tab_of_a_page_of_several_files_shows_something(show: Show, ranks_file: Path) -> None:
    shown = show(file=ranks_file)
    tabs = shown.page.evaluate(
        "[...document.querySelectorAll('#tabs button')].map((one) => one.id.slice(4))"
    )
    assert {*TABS, "ranks", "differences"} - {*tabs} == {"oom"}
    for tab in tabs:
        shown.tab(tab)
        assert shown.page.evaluate(f"document.getElementById('{tab}').innerText").strip()
    assert shown.console == []


UNEVEN = """() => [...document.querySelectorAll("#ranks .uneven tbody tr")].map((row) =>
    [...row.cells].map((cell, i) => i < 3 ? parseInt(cell.title.replaceAll(",", "")) :
        i === 3 ? cell.textContent : cell.querySelector("bdi").textContent))"""


def write_page(lab: Lab, name: str, outlines: list[dict[str, Any]], trace: engine.Trace) -> Path:
    texts = [json.dumps(one) for one in outlines]
    data = files_data(texts, heaviest(texts))
    file = lab.folder / name
    file.write_text(make_page([DeviceData(*trace.page())], PageContent(files=data)))
    return file


def test_ranks_of_a_job_are_compared_as_the_command_does(
    show: Show, lab: Lab, rank_runs: list[Run]
) -> None:
    trace = engine.Trace(str(rank_runs[0].trace))
    outlines = []
    for rank in (0, 1, 2, 3, 5):
        outline = json.loads(trace.outline())
        extra = {"key": "leak.py:7 (keep)", "bytes": 90 << 30, "count": 1}
        extra["bytes"] = (rank + 1) << 20 if rank != 3 else 90 << 30
        outline["rows"]["line"].append(extra)
        outline["chosen"]["peak_bytes"] += extra["bytes"]
        outline["file"] = f"/job/{rank}.peak"
        group = {"name": "mesh_tp", "ranks": f"{rank // 2 * 2},{rank // 2 * 2 + 1}"}
        outline["meta"] |= {
            "rank": str(rank),
            "world_size": "6",
            "process_group.0": json.dumps(group),
        }
        outlines.append(outline)
    shown = opened(show, write_page(lab, "job.html", outlines, trace), "ranks")
    text = shown.page.inner_text("#ranks")
    assert "Missing: rank 4 left no trace." in text
    assert "rank 3 stands out: 90.00 GB more than the median of its peers; +90.00 GB at" in text
    places = shown.page.evaluate(PEAKS)
    assert [row[2] for row in places] == ["0", "1", "0", "1", "1"]  # by rank, behind the peak
    members = [member_of(Path(one["file"]), {"is_being_written": False, **one}) for one in outlines]
    for by, key in KEYS.items():
        shown.click(f'#ranks .choice button:text-is("{by}")')
        rows = compare_rows(
            [process_of(*pair, {}) for pair in zip(members, outlines, strict=True)], key
        )
        assert shown.page.evaluate(UNEVEN) == [
            [row.min_bytes, row.median_bytes, row.max_bytes, row.heaviest.label, place_of(row.key)]
            for row in rows
        ]
    assert shown.console == []


def test_a_line_has_the_reason_of_its_difference_in_both_directions(
    show: Show, lab: Lab, rank_runs: list[Run]
) -> None:
    traces = [engine.Trace(str(run.trace)) for run in rank_runs[1:]]
    rows = [{row["key"]: row["bytes"] for row in lab.table(r.trace)["rows"]} for r in rank_runs[1:]]
    differs = next(key for key in rows[0] if rows[0][key] != rows[1].get(key))
    outlines = [trace.outline() for trace in traces]
    compared = ComparedLines(reasons=[(differs, "<b>kept</b>")])
    content = PageContent(files=files_data(outlines, 0, compared))
    file = lab.folder / "reasons.html"
    file.write_text(make_page([DeviceData(*traces[0].page())], content))
    shown = opened(show, file, "differences")
    place = differs.rpartition(" (")[0].rpartition("/")[2]
    for before, after in ((0, 1), (1, 0)):
        shown.select_option("#differences select >> nth=0", str(before))
        shown.select_option("#differences select >> nth=1", str(after))
        reasons = shown.page.locator("#differences .why")
        assert reasons.all_inner_texts() == ["<b>kept</b>"]
        assert place in reasons.locator("xpath=../..").inner_text()
    shown.click('#differences .choice button:text-is("module")')
    assert shown.page.locator("#differences .why").count() == 0
    assert shown.console == []


def place_of(key: str) -> str:
    """A line as its cell begins: the function stands behind it."""
    found = re.fullmatch(r"(.*) \([^()]*\)", key)
    return found[1] if found else key


def test_a_line_that_moved_is_the_same_line(show: Show, lab: Lab, tmp_path: Path) -> None:
    source = (PROGRAMS / "differs_by_rank.py").read_text()
    traces = []
    for name, text in (("before", source), ("after", source.replace('"""\n', '"""\n\n\n', 1))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.py").write_text(text)
        counters = f"{PROGRAMS}:{os.environ.get('PYTHONPATH', '')}"
        run = lab.recorded(folder, "model.py", environment={"PYTHONPATH": counters})
        assert run.status == 0, run.stderr
        traces.append(str(run.trace))
    file = tmp_path / "both.html"
    assert lab.peakline("html", *traces, "-o", str(file)).returncode == 0
    shown = show(file=file, address="#tab=differences")
    shown.until("document.querySelector('#differences .big')")
    shown.drawn()
    assert shown.page.inner_text("#differences .big") == "The same peak"
    assert shown.page.locator("#differences tbody tr").count() == 0
    note = shown.page.inner_text("#differences .note")
    assert note.startswith("At the peak of each. 0 rows differ, ")
