// @ts-check
// Why every reserved byte is there, and which lines keep segments from going back to the device. The
// rules are those of report/views/segments/allocator_state.h; a test compares both.

/** @typedef {import("./allocator_history.js").AllocatorState} AllocatorState */
/** @typedef {import("./allocator_history.js").Segment} Segment */
/** @typedef {import("./columns.js").Columns} Columns */
/** @typedef {{address: number, bytes: number, cause: string}} FreePiece */

/** The causes of `peakline fragmentation`: they sum to the reserved bytes. */
export const CAUSES = ["live", "waiting", "whole", "pinned", "unit", "partial", "private"];

const LEAST_BLOCK = 512;
const SETS_LOOKED_AT = 64;
const MOST_SETS = 5;

/**
 * The free bytes of a segment, by address.
 * @param {AllocatorState} state
 * @param {Segment} segment
 * @param {Columns} columns
 */
export function freePieces(state, segment, columns) {
  /** @type {FreePiece[]} */
  const pieces = [];
  const plain = segment.isPoolUsed ? "private" : segment.from === segment.to ? "whole" : "pinned";
  let at = segment.address;
  const addTo = (/** @type {number} */ end) => {
    if (at >= end) return;
    if (segment.isExpandable && !segment.isPoolUsed) addUnits(segment, at, end, pieces);
    else pieces.push({ address: at, bytes: end - at, cause: plain });
  };
  for (let i = segment.from; i < segment.to; i++) {
    const block = state.blocks[i];
    addTo(columns.block_address[block]);
    at = columns.block_address[block] + columns.block_bytes[block];
  }
  addTo(segment.address + segment.bytes);
  return pieces;
}

/**
 * Whole units without a block can be returned, the rest before and behind them cannot.
 * @param {Segment} segment
 * @param {number} begin
 * @param {number} end
 * @param {FreePiece[]} pieces
 */
function addUnits(segment, begin, end, pieces) {
  const { unit, address } = segment;
  const first = address + Math.ceil((begin - address) / unit) * unit;
  const last = address + Math.floor((end - address) / unit) * unit;
  const add = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ cause) => {
    if (from < to) pieces.push({ address: from, bytes: to - from, cause });
  };
  if (first >= last) return add(begin, end, "partial");
  add(begin, first, "partial");
  add(first, last, "unit");
  add(last, end, "partial");
}

/**
 * @param {AllocatorState} state
 * @param {Columns} columns
 */
export function findCauses(state, columns) {
  /** @type {Record<string, number>} */
  const bytes = Object.fromEntries(CAUSES.map((cause) => [cause, 0]));
  const found = { bytes, reserved: 0, rounding: 0, divisions: 0, unsplit: 0, holes: 0, largestHole: 0 };
  for (const segment of state.segments) {
    found.reserved += segment.bytes;
    let end = -1;
    let hole = 0;
    for (const piece of freePieces(state, segment, columns)) {
      bytes[piece.cause] += piece.bytes;
      if (piece.address !== end) {
        hole = 0;
        found.holes++;
      }
      hole += piece.bytes;
      end = piece.address + piece.bytes;
      found.largestHole = Math.max(found.largestHole, hole);
    }
  }
  for (let i = 0; i < state.blocks.length; i++) {
    const block = state.blocks[i];
    const size = columns.block_bytes[block];
    bytes[state.waiting[i] ? "waiting" : "live"] += size;
    if (state.waiting[i]) continue;
    const requested = Math.min(size, size - columns.block_rounding[block]);
    const to512 = Math.min(size, Math.ceil(requested / LEAST_BLOCK) * LEAST_BLOCK);
    found.rounding += to512 - requested;
    found.divisions += size - columns.block_unsplit[block] - to512;
    found.unsplit += columns.block_unsplit[block];
  }
  return found;
}

/**
 * Memory that a line keeps from going back to the device, beyond the part that empty_cache() returns now.
 * `blocks`: its live ones.
 * @typedef {{line: number, own: number, sole: number, soleFree: number, shared: number, blocks: number[]}} Pin
 * @typedef {{lines: number[], bytes: number}} PinningSet
 */

/**
 * @param {AllocatorState} state
 * @param {Columns} columns
 * @returns {{lines: Pin[], sets: PinningSet[]}} most bytes first
 */
export function findPins(state, columns) {
  /** @type {Map<number, Pin>} */
  const pins = new Map();
  state.blocks.forEach((block, i) => {
    if (state.waiting[i]) return;
    const line = columns.context_line[columns.block_context[block]];
    let pin = pins.get(line);
    if (!pin) pins.set(line, (pin = { line, own: 0, sole: 0, soleFree: 0, shared: 0, blocks: [] }));
    pin.own += columns.block_bytes[block];
    pin.blocks.push(block);
  });
  const groups = groupParts(state, columns);
  for (const { lines, bytes, used } of groups) {
    for (const line of lines) {
      const pin = /** @type {Pin} */ (pins.get(line));
      if (lines.length > 1) pin.shared += bytes;
      else {
        pin.sole += bytes;
        pin.soleFree += bytes - used;
      }
    }
  }
  const sorted = [...pins.values()].sort((a, b) => b.sole - a.sole || b.shared - a.shared || b.own - a.own);
  return { lines: sorted, sets: findSets(groups) };
}

/**
 * The parts that go back by themselves (plain segments, units of others), by the lines of their blocks.
 * @param {AllocatorState} state
 * @param {Columns} columns
 */
function groupParts(state, columns) {
  /** @type {Map<string, {lines: number[], bytes: number, used: number}>} */
  const groups = new Map();
  for (const segment of state.segments) {
    if (segment.isPoolUsed) continue;
    for (const { bytes, used, lines } of partsOf(state, segment, columns)) {
      if (!lines.size) continue;
      const sorted = [...lines].sort((a, b) => a - b);
      const key = sorted.join();
      const group = groups.get(key);
      if (group) {
        group.bytes += bytes;
        group.used += used;
      } else groups.set(key, { lines: sorted, bytes, used });
    }
  }
  return [...groups.values()];
}

/**
 * A block that waits comes back by itself.
 * @param {AllocatorState} state
 * @param {Segment} segment
 * @param {Columns} columns
 */
function partsOf(state, segment, columns) {
  const unit = segment.unit || segment.bytes;
  const parts = [];
  for (let at = 0; at < segment.bytes; at += unit) parts.push({ bytes: Math.min(unit, segment.bytes - at), used: 0, lines: new Set() });
  for (let i = segment.from; i < segment.to; i++) {
    if (state.waiting[i]) continue;
    const block = state.blocks[i];
    const begin = columns.block_address[block] - segment.address;
    const end = begin + columns.block_bytes[block];
    for (let part = Math.floor(begin / unit); part * unit < end; part++) {
      parts[part].used += Math.min(end, (part + 1) * unit) - Math.max(begin, part * unit);
      parts[part].lines.add(columns.context_line[columns.block_context[block]]);
    }
  }
  return parts;
}

/**
 * Sets of lines that pin memory together: all their blocks must go. Only lines that own a part together can do
 * more than each alone.
 * @param {{lines: number[], bytes: number}[]} groups
 */
function findSets(groups) {
  const shared = groups.filter(({ lines }) => lines.length > 1).sort((a, b) => b.bytes - a.bytes).slice(0, SETS_LOOKED_AT);
  const sets = shared.map(({ lines }) => {
    const all = new Set(lines);
    const within = groups.filter((group) => group.lines.every((line) => all.has(line)));
    return { lines, bytes: within.reduce((sum, group) => sum + group.bytes, 0) };
  });
  return sets.sort((a, b) => b.bytes - a.bytes || a.lines.length - b.lines.length).slice(0, MOST_SETS);
}

/**
 * The lines of the live blocks of a segment, most bytes first.
 * @param {AllocatorState} state
 * @param {Segment} segment
 * @param {Columns} columns
 */
export function ownersOf(state, segment, columns) {
  /** @type {Map<number, {line: number, bytes: number, count: number}>} */
  const owners = new Map();
  for (let i = segment.from; i < segment.to; i++) {
    if (state.waiting[i]) continue;
    const line = columns.context_line[columns.block_context[state.blocks[i]]];
    const owner = owners.get(line) || { line, bytes: 0, count: 0 };
    owner.bytes += columns.block_bytes[state.blocks[i]];
    owner.count++;
    owners.set(line, owner);
  }
  return [...owners.values()].sort((a, b) => b.bytes - a.bytes);
}
