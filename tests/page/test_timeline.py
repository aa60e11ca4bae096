"""The timeline: what it stacks against the engine's tables, what torch reserved against torch."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

import peakline._report as engine
import pytest
from lab import Lab, Run
from reading import column_of, press
from shown import Shown
from test_modules import said_under_node
from test_page import SAID, drag

ROOT = Path(__file__).resolve().parents[2]
Show = Callable[..., Shown]

LEGEND = """() => [...document.querySelectorAll("#timeline .legend li")].map((one) =>
    [one.querySelector("i").className, one.querySelector("bdi").textContent, +one.dataset.bytes])"""

BRUTE_FORCE = """
import { LiveSets } from "./data/live_sets.js";
import { Pyramid } from "./data/pyramid.js";
import { Groups, SERIES_KINDS, Series } from "./data/series.js";
let seed = 11;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
const wrong = [];
let cut = 0;

for (let round = 0; round < 150; round++) {
  const contexts = 1 + random(40);
  const moments = 1 + random(200);
  const ratio = 1 << random(3);
  const keys = Array.from({ length: contexts }, () => "key " + random(1 + random(20)));
  const held = new Float64Array(contexts);
  const columns = { context_node: new Float64Array(contexts), moment_changes: [],
    change_context: [], change_bytes: [], change_count: [] };
  const high = [];
  for (let moment = 0; moment < moments; moment++) {
    const changed = new Set(Array.from({ length: random(4) }, () => random(contexts)));
    columns.moment_changes.push(changed.size);
    for (const context of changed) {
      const bytes = random(50);
      columns.change_context.push(context);
      columns.change_bytes.push(bytes - held[context]);
      columns.change_count.push(0);
      held[context] = bytes;
    }
    const total = held.reduce((sum, one) => sum + one, 0);
    const peak = random(ratio);
    for (let i = 0; i < ratio; i++) high.push(i === peak ? total : random(total + 1));
  }
  const live = new LiveSets(columns.context_node.length, 1, { changes: columns.moment_changes,
    context: columns.change_context, bytes: columns.change_bytes, count: columns.change_count });
  const levels = Float64Array.from(high);
  const pyramid = new Pyramid(levels, levels, levels.map(() => 1));
  const model = { live, ratio, pyramid, grouping: () => (context) => keys[context],
    pointOfMoment: (moment) => pyramid.range(moment * ratio, (moment + 1) * ratio).best };
  const groups = new Groups(model, "line");
  const points = high.map((_, point) => point).filter(() => random(3) === 0);
  if (!points.length) points.push(0);
  const at = points.map((point) => {
    const sums = new Map();
    live.at(Math.floor(point / ratio)).bytes.forEach((bytes, context) =>
      sums.set(keys[context], (sums.get(keys[context]) || 0) + bytes));
    return sums;
  });
  const most = new Map(keys.map((key) => [key, Math.max(...at.map((sums) => sums.get(key)))]));
  const series = new Series(model, groups, points, null);
  const names = series.chosen.map((group) => groups.names[group]);
  const least = Math.min(...names.map((name) => most.get(name)));
  const positive = [...most.values()].filter((one) => one > 0).length;
  if (names.length !== Math.min(SERIES_KINDS.length, positive)) wrong.push(["count", round]);
  names.forEach((name, i) => {
    if (i && most.get(names[i - 1]) < most.get(name)) wrong.push(["order", round]);
  });
  for (const [key, bytes] of most) {
    if (!names.includes(key) && bytes > least) wrong.push(["chosen", round, key]);
  }
  let near = 0;
  points.forEach((point, column) => {
    const total = high[point];
    const parts = series.parts(column, total);
    let room = total;
    names.forEach((name, i) => {
      const bytes = Math.min(room, at[column].get(name));
      if (bytes !== at[column].get(name)) cut++;
      room -= bytes;
      if (parts[i] !== bytes) wrong.push(["part", round, column, name]);
    });
    if (parts[names.length] !== room || room < 0) wrong.push(["rest", round, column]);
    const first = Math.floor(point / ratio) * ratio;
    const bucket = high.slice(first, first + ratio);
    if (first + bucket.indexOf(Math.max(...bucket)) !== point) near++;
  });
  if (series.nearCount !== near) wrong.push(["near", round]);
  const fewer = new Series(model, groups, points.slice(0, 1 + random(points.length)), series);
  if (new Set(fewer.colours).size !== fewer.chosen.length) wrong.push(["places", round]);
  fewer.chosen.forEach((group, i) => {
    const old = series.chosen.indexOf(group);
    if (old >= 0 && series.colours[old] !== fewer.colours[i]) wrong.push(["kept place", round]);
  });
}
console.log(JSON.stringify({ wrong: wrong.slice(0, 9), cut }));
"""


def test_series_are_what_live_sets_from_scratch_give(tmp_path: Path) -> None:
    said = said_under_node(BRUTE_FORCE, tmp_path)
    assert said["wrong"] == [] and said["cut"] > 100


@pytest.mark.parametrize("by", ["line", "module", "phase", "operator"])
def test_figures_at_a_chosen_moment_are_those_of_the_table(
    show: Show, lab: Lab, run: Run, by: str
) -> None:
    shown = show(address="#tab=timeline")
    press(shown, "timeline", by)
    seen = set()
    for begin, end in ((0.02, 0.1), (0.3, 0.45), (0.62, 0.63)):
        drag(shown, begin, end)
        said = shown.page.evaluate(SAID)
        legend = [one for one in shown.page.evaluate(LEGEND) if one[0] != "reserved"]
        # Half a tick later, so that rounding does not lead to the event before.
        moment = repr(float(said["seconds"]) + 6.4e-8)
        option = {"operator": "op"}.get(by, by)
        table = lab.table(run.trace, "--by", option, "--at", moment)
        rows = {row["key"][:200]: row["bytes"] for row in table["rows"]}
        sizes = [size for _, _, size in legend]
        assert sum(sizes) == int(said["bytes"]) == table["total_bytes"]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) <= 9
        named = [(name, size) for _, name, size in legend if name != "the rest"]
        # A page cuts a very long name and keeps the characters that a terminal escapes.
        plain = [(name[3:], size) for name, size in named if size and name[3:] in rows]
        assert all(rows[name] == size for name, size in plain)
        unmatched = sorted(row["bytes"] for row in table["rows"])
        for _, size in named:
            if size:
                unmatched.remove(size)
        assert sum(unmatched) == sum(size for _, name, size in legend if name == "the rest")
        assert plain or by in ("line", "module")
        seen.update(named)
    # Every series that is drawn has its name, also where it holds nothing at the moment shown.
    assert len({name for name, _ in seen}) == len(named)
    assert len(seen) > 2
    assert shown.console == []


def test_the_choice_stays_in_the_address(show: Show) -> None:
    shown = show(address="#tab=timeline")
    press(shown, "timeline", "module")
    address = shown.page.evaluate("location.hash")
    assert "stack=module" in address
    again = show(address=address)
    assert again.page.evaluate(LEGEND) == shown.page.evaluate(LEGEND)
    assert "by module" in again.page.get_attribute("#timeline canvas", "aria-label")
    press(shown, "timeline", "category")
    assert "stack=" not in shown.page.evaluate("location.hash")
    assert show(address="#tab=timeline&stack=nothing").console == []


def test_a_page_of_few_moments_says_where_its_split_is_of(show: Show, lab: Lab, run: Run) -> None:
    file = lab.folder / "few.html"
    assert (
        lab.peakline("html", str(run.trace), "--budget", "0.001", "-o", str(file)).returncode == 0
    )
    shown = show(file=file, address="#tab=timeline&stack=line")
    assert "split of the nearest moment" in shown.page.inner_text("#timeline .note")
    shown = show(address="#tab=timeline&stack=line")
    assert "split of the nearest moment" not in shown.page.inner_text("#timeline .note")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_in_a_stack_by_line(show: Show, theme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    script = next(Path(axe.__file__).parent.rglob("axe.min.js")).read_text()
    shown = show(theme=theme, width=width, address="#tab=timeline&stack=line")
    shown.page.evaluate(script)
    result = shown.page.evaluate("axe.run()")
    assert len(result["passes"]) > 10
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in result["violations"]] == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("expandable", [False, True])
def test_reserved_is_what_torch_says_at_every_mark(show: Show, lab: Lab, expandable: bool) -> None:
    settings = {"PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:{expandable}"}
    run = lab.once("reserves.py", environment=settings)
    text, data = engine.Trace(str(run.trace)).page()
    page = json.loads(text)
    begins = [tick * page["tick_seconds"] for tick in column_of(page, data, "point_begin")]
    reserved = [size * page["byte_unit"] for size in column_of(page, data, "point_reserved")]
    points = [bisect_right(begins, one["seconds"]) - 1 for one in page["phases"]["notes"]]
    steps = run.said["steps"]
    assert [reserved[point] for point in points] == [step["reserved"] for step in steps]
    assert [max(reserved[a : b + 1]) for a, b in zip(points, points[1:], strict=False)] == [
        step["most"] for step in steps[1:]
    ]
    assert len({step["reserved"] for step in steps}) > 4
    file = lab.folder / f"reserves{expandable}.html"
    assert lab.peakline("html", str(run.trace), "-o", str(file)).returncode == 0
    shown = show(file=file, address="#tab=timeline")
    shown_size = [size for kind, _, size in shown.page.evaluate(LEGEND) if kind == "reserved"]
    assert shown_size == [reserved[page["peak"]["point"]]]
