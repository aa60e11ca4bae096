// The tree of a flame, against sums over whole stacks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Tree } from "../data/tree.js";

let seed = 7;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;

test("every node has the sum and the category of the stacks below it", () => {
  const wrong = [];
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
  assert.deepEqual(wrong, []);
});

test("a limited tree keeps the largest nodes, and joins the others exactly", () => {
  const wrong = [];
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
        // The joined rest: bytes of the caller beyond its own and those of the kept children.
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
  assert.deepEqual(wrong, []);
});

test("a stack may be deep", () => {
  const long = Array.from({ length: 70000 }, (_, i) => i + 1);
  const deep = new Tree([{ path: long, context: 0 }], Float64Array.of(5));
  deep.measure(Float64Array.of(5), Float64Array.of(0));
  assert.equal(deep.total[0], 5);
  assert.equal(deep.depth[70000], 70000);
});
