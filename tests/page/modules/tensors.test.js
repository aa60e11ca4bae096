// The blocks of a moment, against a walk over all of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Tensors } from "../data/tensors.js";

let seed = 5;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;

/** A run whose points are its events 10, 11, ... */
function randomRun(events) {
  const blocks = [];
  for (let event = 5; event < 10 + events; event++) {
    if (random(2)) blocks.push({ made: event, freed: random(3) ? event + 1 + random(30) : Infinity, bytes: 1 + random(9) });
  }
  const columns = { tensor_made: Float64Array.from(blocks, ({ made }) => made),
    tensor_lived: Float64Array.from(blocks, ({ made, freed }) => (freed === Infinity ? 0 : freed - made)),
    tensor_bytes: Float64Array.from(blocks, ({ bytes }) => bytes), tensor_made_tick: new Float64Array(0),
    point_peak_event: Float64Array.from({ length: events }, (_, i) => 10 + i),
    point_begin: Float64Array.from({ length: events }, (_, i) => 100 * i), point_peak_offset: new Float64Array(events).fill(7) };
  return { blocks, tensors: new Tensors({ tensors: {}, byte_unit: 4, tick_seconds: 0.5, end_tick: 100 * events }, columns) };
}

test("the blocks of a moment are those made by then and not freed by then, the largest first", () => {
  for (let round = 0; round < 30; round++) {
    const events = 1 + random(120);
    const { blocks, tensors } = randomRun(events);
    for (let point = 0; point < events; point++) {
      const now = 10 + point;
      const wanted = blocks.map((_, i) => i).filter((i) => blocks[i].made <= now && now < blocks[i].freed)
        .sort((a, b) => blocks[b].bytes - blocks[a].bytes || a - b);
      assert.deepEqual(tensors.liveAt(point), wanted);
      for (const block of wanted) {
        const [from, to] = tensors.lifeOf(block);
        const share = events > 1 ? point / (events - 1) : 0;
        assert.ok(from <= share && share <= to);
      }
    }
  }
});

test("a block is made and freed at the time of these events", () => {
  const { blocks, tensors } = randomRun(80);
  blocks.forEach(({ made, freed, bytes }, i) => {
    assert.equal(tensors.bytes[i], 4 * bytes);
    assert.equal(tensors.madeAt(i), made < 10 ? null : (100 * (made - 10) + 7) / 2);
    const known = Math.min(freed, 89);
    assert.equal(tensors.freedAt(i), freed === Infinity ? null : (100 * Math.max(0, known - 10) + 7) / 2);
  });
});
