// The highest and the lowest of a range, against a walk over all of its points.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pyramid } from "../data/pyramid.js";

let seed = 7;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;

test("a range has the earliest of its highest points, and its lowest level", () => {
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
  assert.deepEqual(wrong, []);
});
