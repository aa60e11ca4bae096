// The layers of the timeline by a key, against live sets that are summed from scratch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveSets } from "../data/live_sets.js";
import { Pyramid } from "../data/pyramid.js";
import { Groups, SERIES_KINDS, Series } from "../data/series.js";

let seed = 11;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;

test("the highest groups stand at their own heights, cut at the total", () => {
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
  assert.deepEqual(wrong.slice(0, 9), []);
  assert.ok(cut > 100);
});
