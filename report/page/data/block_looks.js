// @ts-check
// The colours of the blocks of the map: by a key of the page or by age. Each block has a
// number, and each number a name and the token of a colour.
import { SERIES_KINDS } from "./series.js";

/** @typedef {import("./allocator_history.js").AllocatorState} AllocatorState */

const AGES_IN_STEPS = [[0, "made in this step"], [1, "in the step before"], [4, "2 to 4 steps before"], [16, "5 to 16 steps before"],
  [Infinity, "older"]];
const BEFORE_STEPS = "before the first step";
const AGES_IN_SECONDS = [[0.001, "younger than 1 ms"], [0.01, "than 10 ms"], [0.1, "than 100 ms"], [1, "than 1 s"], [Infinity, "older"]];

/** @typedef {{names: string[], kinds: string[], bytes: number[], of: (block: number) => number}} BlockLook */

/**
 * @param {import("./model.js").Model} model
 * @param {string} by
 * @param {AllocatorState} state
 * @param {number} seconds of the state
 * @param {BlockLook | null} before a name that it has keeps its colour
 * @returns {BlockLook}
 */
export function lookAt(model, by, state, seconds, before) {
  const look = by === "category" ? lookAtCategories(model) : by === "age" ? lookAtAges(model, seconds) : lookAtGroups(model, by, state, before);
  const bytes = look.names.map(() => 0);
  for (const block of state.blocks) bytes[look.of(block)] += model.columns.block_bytes[block];
  return { ...look, bytes };
}

/** @param {import("./model.js").Model} model */
function lookAtCategories({ page, columns, numbers }) {
  return { names: page.categories, kinds: page.categories, of: (/** @type {number} */ block) => numbers.category[columns.block_context[block]] };
}

/**
 * @param {import("./model.js").Model} model
 * @param {number} seconds
 */
function lookAtAges({ page, columns }, seconds) {
  const begins = page.phases.steps.map((/** @type {any} */ one) => one.begin_seconds);
  const madeAt = (/** @type {number} */ block) => columns.block_made[block] * page.tick_seconds;
  const [bins, ageOf] = begins.length
    ? [AGES_IN_STEPS, (/** @type {number} */ block) => stepAt(begins, seconds) - stepAt(begins, madeAt(block))]
    : [AGES_IN_SECONDS, (/** @type {number} */ block) => seconds - madeAt(block)];
  const names = bins.map(([, name]) => String(name));
  if (begins.length) names.push(BEFORE_STEPS);
  return { names, kinds: names.map((_, i) => SERIES_KINDS[i]),
    of: (/** @type {number} */ block) => begins.length && madeAt(block) < begins[0] ? bins.length : bins.findIndex(([most]) => ageOf(block) <= Number(most)) };
}

/**
 * @param {number[]} begins
 * @param {number} seconds
 */
function stepAt(begins, seconds) {
  let low = 0;
  let high = begins.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begins[middle] <= seconds) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The largest groups have a colour each, the others one together.
 * @param {import("./model.js").Model} model
 * @param {string} by
 * @param {AllocatorState} state
 * @param {BlockLook | null} before
 */
function lookAtGroups(model, by, state, before) {
  const { columns } = model;
  const keyOf = model.grouping(by);
  const keys = Array.from(columns.context_line, (_, context) => keyOf(context));
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const block of state.blocks) {
    const key = keys[columns.block_context[block]];
    sums.set(key, (sums.get(key) || 0) + columns.block_bytes[block]);
  }
  const largest = [...sums.keys()].sort((a, b) => (sums.get(b) || 0) - (sums.get(a) || 0) || (a < b ? -1 : 1)).slice(0, SERIES_KINDS.length);
  const rest = SERIES_KINDS.length;
  /** @type {string[]} */
  const names = Array.from({ length: rest + 1 }, (_, i) => (i === rest ? "the rest" : ""));
  const old = before ? before.names : [];
  for (const key of largest) if (old.indexOf(key) >= 0 && old.indexOf(key) < rest) names[old.indexOf(key)] = key;
  for (const key of largest) if (!names.includes(key)) names[names.indexOf("")] = key;
  const colours = keys.map((key) => (key && names.indexOf(key) >= 0 ? names.indexOf(key) : rest));
  return { names, kinds: [...SERIES_KINDS, "kept"], of: (/** @type {number} */ block) => colours[columns.block_context[block]] };
}
