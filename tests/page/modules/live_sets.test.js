// Live sets from their differences, and the growth between two of them, against sums from scratch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Growth } from "../data/growth.js";
import { LiveSets } from "../data/live_sets.js";

let seed = 3;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
const UNIT = 512;

/** Whole sets, and their differences as columns. */
function randomSets(contexts, moments) {
  const columns = { changes: [], context: [], bytes: [], count: [] };
  const held = Array.from({ length: contexts }, () => [0, 0]);
  const sets = [];
  for (let moment = 0; moment < moments; moment++) {
    const changed = new Set(Array.from({ length: random(6) }, () => random(contexts)));
    columns.changes.push(changed.size);
    for (const context of changed) {
      const [bytes, count] = [random(90), random(5)];
      columns.context.push(context);
      columns.bytes.push(bytes - held[context][0]);
      columns.count.push(count - held[context][1]);
      held[context] = [bytes, count];
    }
    sets.push({ bytes: held.map(([bytes]) => bytes * UNIT), count: held.map(([, count]) => count) });
  }
  for (const name of Object.keys(columns)) columns[name] = Float64Array.from(columns[name]);
  return { columns, sets };
}

const listed = ({ bytes, count }) => ({ bytes: [...bytes], count: [...count] });

test("the live set of any moment is the sum of all changes up to it", () => {
  for (const [contexts, moments] of [[1, 1], [7, 64], [7, 65], [30, 700]]) {
    const { columns, sets } = randomSets(contexts, moments);
    const live = new LiveSets(contexts, UNIT, columns);
    assert.equal(live.momentCount, moments);
    for (let i = 0; i < 100; i++) {
      const moment = random(moments);
      assert.deepEqual(listed(live.at(moment)), sets[moment]);
    }
  }
});

/** A run of `count` samples that keeps the live set of every `stride`th, and of the last one. */
function randomGrowth(count, stride, unit) {
  const kept = Array.from({ length: count }, (_, i) => i).filter((i) => i % stride === 0 || i === count - 1);
  const { columns, sets } = randomSets(9, kept.length);
  const growth = new Growth({ byte_unit: UNIT, tick_seconds: 0.5, growth: { unit, one: "step", many: "steps", stride } }, {
    growth_tick: Float64Array.from({ length: count }, (_, i) => 10 + 2 * i), growth_level: new Float64Array(count),
    growth_step: Float64Array.from({ length: count }, (_, i) => 4 + Math.max(0, i - 1)),
    context_node: new Float64Array(9), growth_changes: columns.changes, growth_context: columns.context,
    growth_bytes: columns.bytes, growth_count: columns.count });
  return { growth, kept, sets };
}

test("growth between two samples is the difference of their live sets", () => {
  for (const [count, stride] of [[2, 1], [9, 1], [9, 4], [10, 4], [33, 8]]) {
    const { growth, kept, sets } = randomGrowth(count, stride, "step");
    for (let i = 0; i < 40; i++) {
      const [a, b] = [random(kept.length), random(kept.length)];
      const said = growth.between(kept[a], kept[b]);
      assert.deepEqual([...said.bytes], sets[b].bytes.map((bytes, context) => bytes - sets[a].bytes[context]));
      assert.deepEqual([...said.count], sets[b].count.map((one, context) => one - sets[a].count[context]));
    }
  }
});

test("the nearest sample is the nearest of those with a live set", () => {
  const { growth, kept } = randomGrowth(31, 4, "step");
  for (let sample = -3; sample < 36; sample++) {
    const found = growth.nearest(sample);
    assert.ok(kept.includes(found));
    const best = Math.min(...kept.map((one) => Math.abs(one - sample)));
    assert.equal(Math.abs(found - sample), best, `sample ${sample}`);
  }
});

test("a distance is counted in steps, or in seconds", () => {
  const { growth } = randomGrowth(12, 1, "step");
  // Sample 0 is at the begin of step 4, sample 1 at its end.
  assert.equal(growth.distance(0, 1), 1);
  assert.equal(growth.distance(0, 11), 11);
  assert.equal(growth.distance(5, 2), -3);
  assert.equal(growth.sampleAt(4), 1);
  assert.equal(growth.sampleAt(9), 6);
  assert.equal(growth.sampleAt(99), 11);
  const { growth: byTime } = randomGrowth(12, 1, "time");
  assert.equal(byTime.distance(2, 5), 3);
});
