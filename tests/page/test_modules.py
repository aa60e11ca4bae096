"""The page's modules without drawing, against brute force, in the node that Playwright brings."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import { Pyramid } from "./data/pyramid.js";
import { Tree } from "./data/tree.js";
let seed = 7;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
const wrong = [];

for (let count = 1; count < 130; count++) {
  const high = Float64Array.from({ length: count }, () => random(20));
  const low = high.map((one) => Math.max(0, one - random(5)));
  const traced = Float64Array.from({ length: count }, () => (random(4) ? 1 : 0));
  const pyramid = new Pyramid(high, low, traced);
  for (let i = 0; i < 60; i++) {
    const from = random(count);
    const to = from + 1 + random(count - from);
    let best = from;
    for (let j = from; j < to; j++) {
      if (traced[j] !== traced[best] ? traced[j] : high[j] > high[best]) best = j;
    }
    const least = Math.min(...low.slice(from, to));
    const found = pyramid.range(from, to);
    if (found.best !== best || found.low !== least) wrong.push(["range", count, from, to]);
  }
}

for (let round = 0; round < 60; round++) {
  const contexts = 1 + random(80);
  const paths = [];
  for (let context = 0; context < contexts; context++) {
    const path = Array.from({ length: random(7) }, () => 1 + random(4));
    paths.push({ path, context });
  }
  const bytes = Float64Array.from({ length: contexts }, () => random(50));
  const categories = Float64Array.from({ length: contexts }, () => random(3));
  const tree = new Tree(paths, bytes);
  tree.measure(bytes, categories);
  const pathOf = (node) => (node === 0 ? "" : pathOf(tree.parent[node]) + "/" + tree.name[node]);
  for (let node = 0; node < tree.count; node++) {
    const own = pathOf(node);
    const below = paths.filter(({ path }) => {
      const text = path.map((name) => "/" + name).join("");
      return text === own || text.startsWith(own + "/");
    });
    const total = below.reduce((sum, { context }) => sum + bytes[context], 0);
    const holding = below.filter(({ context }) => bytes[context]);
    const kinds = new Set(holding.map(({ context }) => categories[context]));
    const category = kinds.size === 0 ? -2 : kinds.size === 1 ? [...kinds][0] : -1;
    if (tree.total[node] !== total || tree.category[node] !== category) wrong.push(["tree", own]);
  }
  if (tree.total[0] !== bytes.reduce((sum, one) => sum + one, 0)) wrong.push(["sum", round]);
}

for (let round = 0; round < 200; round++) {
  const contexts = 1 + random(60);
  const paths = Array.from({ length: contexts }, (_, context) =>
    ({ path: Array.from({ length: random(6) }, () => 1 + random(4)), context }));
  const bytes = Float64Array.from({ length: contexts }, () => random(50));
  const whole = new Tree(paths, bytes);
  const most = 2 + random(30);
  const cut = new Tree(paths, bytes, { most, name: 99 });
  whole.measure(bytes, bytes);
  cut.measure(bytes, bytes);
  const textOf = (tree, node) =>
    node === 0 ? "" : textOf(tree, tree.parent[node]) + "/" + tree.name[node];
  const totals = new Map(Array.from(whole.total, (total, node) => [textOf(whole, node), total]));
  const selfs = new Map(Array.from(whole.self, (self, node) => [textOf(whole, node), self]));
  const parents = new Set();
  let smallest = Infinity;
  for (let node = 0; node < cut.count; node++) {
    if (cut.name[node] === 99) {
      if (parents.has(cut.parent[node])) wrong.push(["two others", round]);
      parents.add(cut.parent[node]);
      // What is joined: what the caller has beyond its own and the children that are kept.
      const above = textOf(cut, cut.parent[node]);
      const kept = new Set();
      for (let i = 0; i < cut.count; i++) {
        if (cut.parent[i] === cut.parent[node]) kept.add(textOf(cut, i));
      }
      let rest = 0;
      for (let i = 1; i < whole.count; i++) {
        const isBelow = textOf(whole, whole.parent[i]) === above;
        if (isBelow && !kept.has(textOf(whole, i))) rest += whole.total[i];
      }
      if (rest !== cut.total[node]) wrong.push(["other", round, rest, cut.total[node]]);
    } else {
      smallest = Math.min(smallest, cut.total[node]);
      if (cut.total[node] !== totals.get(textOf(cut, node))) wrong.push(["kept", round]);
      if (cut.self[node] !== selfs.get(textOf(cut, node))) wrong.push(["self", round]);
    }
  }
  const names = new Set(Array.from(cut.name, (_, node) => textOf(cut, node)));
  for (const [text, total] of totals) {
    if (!names.has(text) && total > smallest) wrong.push(["dropped", round]);
  }
  if (cut.count > most || cut.total[0] !== whole.total[0]) wrong.push(["limit", round, most]);
  if ((cut.joined > 0) !== (whole.count > most)) wrong.push(["joined", round]);
}

const long = Array.from({ length: 70000 }, (_, i) => i + 1);
const deep = new Tree([{ path: long, context: 0 }], Float64Array.of(5));
deep.measure(Float64Array.of(5), Float64Array.of(0));
if (deep.total[0] !== 5 || deep.depth[70000] !== 70000) wrong.push(["deep"]);

console.log(JSON.stringify({ wrong }));
"""


def node() -> str:
    """The node of Playwright, else one of this machine."""
    driver = pytest.importorskip("playwright._impl._driver", reason="pip install playwright")
    found = driver.compute_driver_executable()
    program = found[0] if isinstance(found, tuple) else found
    return program if Path(program).is_file() else shutil.which("node") or pytest.skip("no node")


def said_under_node(script: str, folder: Path) -> Any:
    """Run a script beside the modules of the page; returns the JSON that it prints."""
    shutil.copytree(ROOT / "report" / "page", folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "check.js").write_text(script)
    result = subprocess.run(
        [node(), str(folder / "check.js")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_ranges_and_trees_are_what_brute_force_finds(tmp_path: Path) -> None:
    said = said_under_node(SCRIPT, tmp_path)
    assert said["wrong"] == []
