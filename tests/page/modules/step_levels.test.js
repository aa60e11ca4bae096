// Runs on one axis of steps, against lists that are written out step by step.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StepAxis, StepLevels } from "../data/step_levels.js";

let seed = 9;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
const TEXTS = ["a.py:1", "b.py:2", "act", "param"];

/** A run with these first steps of its ranges. */
function randomRun(steps, end) {
  const held = [0, 0, 0];
  const [changes, sets, peaks] = [[], [], []];
  for (let range = 0; range < steps.length + 2; range++) {
    const flat = [];
    for (let group = 0; group < 3; group++) {
      if (random(2)) continue;
      const bytes = random(50);
      flat.push(group, bytes - held[group]);
      held[group] = bytes;
    }
    changes.push(flat);
    sets.push(held.slice());
    peaks.push(...Array.from({ length: 4 }, () => random(30)));
  }
  // Groups: a.py:1 act, b.py:2 act, b.py:2 param.
  const facts = { unit: "step", one: "step", steps, end_step: end, parts_per_step: 4, peaks, keys: ["line", "category"],
    peak_seconds: peaks.map((_, i) => i), groups: [0, 2, 1, 2, 1, 3], changes };
  return { levels: new StepLevels(facts, TEXTS), sets, peaks };
}

test("a slot of the axis is the same step in every run", () => {
  const runs = [randomRun([2, 3, 4], 5), randomRun([3, 5, 7], 8)].map(({ levels }) => levels);
  const axis = new StepAxis(runs);
  const names = Array.from({ length: axis.count }, (_, slot) => axis.nameOf(slot));
  assert.deepEqual(names, ["before step 2", "step 2", "step 3", "step 4", "step 5", "step 6", "step 7", "after step 7"]);
  const ranges = runs.map((run) => names.map((_, slot) => run.rangeOf(slot, axis)));
  assert.deepEqual(ranges, [[0, 1, 2, 3, -1, -1, -1, 4], [0, -1, 1, 1, 2, 2, 3, 4]]);
  for (let slot = 0; slot < axis.count; slot++) assert.equal(axis.slotOf(axis.wordOf(slot)), slot);
  for (const word of ["", "1", "8", "-1", "x"]) assert.equal(axis.slotOf(word), -1);
});

test("runs without steps have one slot before and one after", () => {
  const axis = new StepAxis([randomRun([], 0).levels]);
  assert.equal(axis.count, 2);
});

test("the rows of a range are the sum of its changes, and its peak the highest of its parts", () => {
  for (let round = 0; round < 50; round++) {
    const steps = Array.from({ length: random(6) }, (_, i) => i);
    const { levels, sets, peaks } = randomRun(steps, steps.length);
    sets.forEach((held, range) => {
      const wanted = { "a.py:1": held[0], "b.py:2": held[1] + held[2] };
      const rows = levels.rowsAt(range, "line", (text) => text);
      assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(Object.entries(wanted).filter(([, bytes]) => bytes)));
      const joined = levels.rowsAt(range, "category", () => "all");
      assert.equal(joined.get("all") ?? 0, held[0] + held[1] + held[2]);
      const own = peaks.slice(range * 4, range * 4 + 4);
      const { bytes, seconds } = levels.peakOf(range);
      assert.equal(bytes, Math.max(...own));
      assert.equal(seconds, range * 4 + own.indexOf(bytes));
    });
  }
});
