// @ts-check
// Which rows the map has: segments in groups of one pool, stream and kind, each group with a head.
import { formatBytes, formatCount } from "../elements/format.js";

/** @typedef {import("../data/allocator_history.js").AllocatorState} AllocatorState */
/** @typedef {import("../data/allocator_history.js").Segment} Segment */
/**
 * @typedef {{name: string, segments: Segment[], most: number, bytes: number, free: number, order: number}} SegmentGroup
 * `segment`: none for the head of the group. `begin`: bytes of the row before it; `most`: bytes of the whole width.
 * @typedef {{y: number, height: number, group: SegmentGroup, segment: Segment | null, begin: number, most: number}} MapRow
 */

const HEAD = 26;
const GAP = 3;
const MIB = 1024 * 1024;
const SMALL_SEGMENT = 2 * MIB;
/** Large segments up to 20 MiB, torch's usual size, and of every eightfold size, are groups of their own. */
const USUAL_SEGMENT = 20 * MIB;
/** Rows of a packed map, if no segment needs more. */
const PACKED_ROWS = 14;
/** Up to so many rows are so high. */
const HEIGHTS = [[60, 22], [200, 18], [800, 9], [Infinity, 5]];

/** The ways to draw segments: words with the texts of the choice. */
export const WIDTHS = [["group", "a row each"], ["packed", "packed, one scale"], ["full", "full width each"]];

/**
 * @param {Segment} segment
 * @returns {[string, number]} and its order
 */
function kindOfSegment(segment) {
  if (segment.isExpandable) return segment.unit === SMALL_SEGMENT ? ["small blocks, expandable", 90] : ["expandable", 0];
  if (segment.bytes <= SMALL_SEGMENT) return ["small segments", 91];
  const power = Math.max(0, Math.ceil(Math.log(segment.bytes / USUAL_SEGMENT) / Math.log(8) - 1e-9));
  return [`large segments up to ${formatBytes(USUAL_SEGMENT * 8 ** power)}`, 50 - power];
}

/**
 * A pool of torch, numbered as `peakline map` does.
 * @param {Segment} segment
 */
export function poolName(segment) {
  return segment.pool === 0 ? "default pool" : `private pool ${formatCount(segment.pool)}${segment.isPoolUsed ? "" : " (released)"}`;
}

/**
 * @param {AllocatorState} state
 * @param {string[]} streams
 * @param {Float64Array} blockBytes
 */
export function groupSegments(state, streams, blockBytes) {
  /** @type {Map<string, SegmentGroup>} */
  const groups = new Map();
  for (const segment of state.segments) {
    const [kind, order] = kindOfSegment(segment);
    const name = [poolName(segment), streams[segment.stream] || "unknown stream", kind].join(", ");
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { name, segments: [], most: 0, bytes: 0, free: 0, order: segment.pool * 1e6 + segment.stream * 100 + order }));
    let used = 0;
    for (let i = segment.from; i < segment.to; i++) used += blockBytes[state.blocks[i]];
    group.segments.push(segment);
    group.most = Math.max(group.most, segment.bytes);
    group.bytes += segment.bytes;
    group.free += segment.bytes - used;
  }
  return [...groups.values()].sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1));
}

/** @param {SegmentGroup} group */
export function sayGroup(group) {
  const count = `${formatCount(group.segments.length)} ${group.segments.length === 1 ? "segment" : "segments"}`;
  return `${count}, ${formatBytes(group.bytes)}, ${formatBytes(group.free)} not in blocks`;
}

/**
 * @param {SegmentGroup[]} groups
 * @param {string} widths of WIDTHS
 * @returns {{rows: MapRow[], height: number}} by y, then from the left
 */
export function layOutRows(groups, widths) {
  const count = groups.reduce((sum, group) => sum + group.segments.length, 0);
  const total = groups.reduce((sum, group) => sum + group.bytes, 0);
  const packed = groups.reduce((most, group) => Math.max(most, group.most), total / PACKED_ROWS);
  const [, high] = widths === "packed" ? HEIGHTS[0] : /** @type {number[]} */ (HEIGHTS.find(([most]) => count <= most));
  const gap = high > 8 ? GAP : 1;
  /** @type {MapRow[]} */
  const rows = [];
  let y = 0;
  for (const group of groups) {
    rows.push({ y, height: HEAD, group, segment: null, begin: 0, most: 1 });
    y += HEAD;
    let begin = 0;
    for (const segment of group.segments) {
      const most = widths === "packed" ? packed : widths === "full" ? segment.bytes : group.most;
      if (begin > 0 && (widths !== "packed" || begin + segment.bytes > packed)) {
        y += high + gap;
        begin = 0;
      }
      rows.push({ y, height: high, group, segment, begin, most });
      begin += segment.bytes;
    }
    y += high + gap + 6;
  }
  return { rows, height: y };
}

/**
 * The first row of those that begin at the last position at or above, or -1.
 * @param {MapRow[]} rows
 * @param {number} y
 */
export function rowAbove(rows, y) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].y <= y) low = middle + 1;
    else high = middle;
  }
  let row = low - 1;
  while (row > 0 && rows[row - 1].y === rows[row].y) row--;
  return row;
}
