// Blocks as stripes, against a walk over all blocks for every column.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Stripes } from "../data/stripes.js";

let seed = 13;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
const LAYERS = 3;

function randomRun() {
  const list = [];
  const count = 1 + random(150);
  for (let event = 0; event < count; event++) {
    if (random(3)) list.push({ made: event, freed: random(4) ? event + 1 + random(40) : Infinity, bytes: 1 + random(20), layer: random(LAYERS) });
  }
  const blocks = { bytes: list.map(({ bytes }) => bytes), made: list.map(({ made }) => made),
    lived: list.map(({ made, freed }) => (freed === Infinity ? 0 : freed - made)), layerOf: (block) => list[block].layer };
  const events = Array.from({ length: 1 + random(40) }, () => random(count + 10)).sort((a, b) => a - b);
  const live = (event) => list.map((_, i) => i).filter((i) => list[i].made <= event && event < list[i].freed);
  const partsOf = (column) => Array.from({ length: LAYERS }, (_, layer) =>
    live(events[column]).reduce((sum, i) => sum + (list[i].layer === layer ? list[i].bytes : 0), 0));
  return { list, blocks, events, live, partsOf };
}

test("a column has the large blocks of its moment, the oldest below, and the exact rest above", () => {
  for (let round = 0; round < 200; round++) {
    const { list, blocks, events, live, partsOf } = randomRun();
    const least = 1 + random(12);
    const stripes = new Stripes(blocks, events, partsOf, least);
    events.forEach((event, column) => {
      const wanted = [];
      let base = 0;
      partsOf(column).forEach((bytes, layer) => {
        let low = base;
        for (const block of live(event).filter((i) => list[i].layer === layer && list[i].bytes >= least)) {
          wanted.push({ block, layer, low, high: low + list[block].bytes });
          low += list[block].bytes;
        }
        const rest = live(event).reduce((sum, i) => sum + (list[i].layer === layer && list[i].bytes < least ? list[i].bytes : 0), 0);
        base += bytes;
        assert.equal(base - low, rest);
      });
      const found = [];
      for (let i = stripes.begin[column]; i < stripes.begin[column + 1]; i++) {
        found.push({ block: stripes.block[i], layer: stripes.layer[i], low: stripes.low[i], high: stripes.high[i] });
      }
      assert.deepEqual(found, wanted);
      for (let bytes = 0; bytes < base + 2; bytes++) {
        const hit = wanted.find(({ low, high }) => low <= bytes && bytes < high);
        const stripe = stripes.at(column, bytes);
        assert.equal(stripe < 0 ? undefined : stripes.block[stripe], hit?.block);
      }
    });
    const shown = new Set(events.flatMap((event) => live(event).filter((i) => list[i].bytes >= least)));
    assert.equal(stripes.shownCount, shown.size);
    for (const block of shown) {
      const columns = [...events.keys()].filter((column) => live(events[column]).includes(block));
      assert.deepEqual(stripes.ofBlock(block).map(({ column }) => column), columns);
    }
  }
});

test("no stripe is above the height of its layer", () => {
  for (let round = 0; round < 60; round++) {
    const { blocks, events, partsOf } = randomRun();
    const lower = (column) => partsOf(column).map((bytes) => Math.floor(bytes / 2));
    const stripes = new Stripes(blocks, events, lower, 1);
    events.forEach((_, column) => {
      const tops = lower(column).reduce((sums, bytes) => [...sums, (sums.at(-1) ?? 0) + bytes], []);
      for (let i = stripes.begin[column]; i < stripes.begin[column + 1]; i++) {
        assert.ok(stripes.high[i] <= tops[stripes.layer[i]] && stripes.low[i] < stripes.high[i]);
      }
    });
  }
});
