// @ts-check
// The maps of the page: segments of torch's allocator and the blocks in them, from the columns.

/**
 * `free`: of the segment; `blocks`: those that are listed begin and end there in the columns.
 * @typedef {{address: number, bytes: number, stream: string, isExpandable: boolean, used: number, free: number, count: number,
 *   holes: number, largest: number, unlisted: number, from: number, to: number}} Segment
 * @typedef {{moment: string, seconds: number, unlisted_count: number, outside_bytes: number, outside_count: number,
 *   segments: Segment[]}} MemoryMap
 */

/**
 * @param {any} page
 * @param {import("../data/columns.js").Columns} columns
 * @returns {MemoryMap[]}
 */
export function readMaps(page, columns) {
  let at = 0;
  let block = 0;
  return page.maps.map((/** @type {any} */ one) => {
    /** @type {Segment[]} */
    const segments = [];
    for (const end = at + one.segment_count; at < end; at++) {
      const bytes = columns.segment_bytes[at];
      const used = columns.segment_block_bytes[at];
      const to = block + columns.segment_listed_count[at];
      segments.push({ address: columns.segment_address[at], bytes, used, free: bytes - used, count: columns.segment_block_count[at],
        stream: page.streams[columns.segment_stream[at]] || "unknown stream", isExpandable: columns.segment_expandable[at] === 1,
        holes: columns.segment_hole_count[at], largest: columns.segment_largest_hole[at],
        unlisted: columns.segment_unlisted_bytes[at], from: block, to });
      block = to;
    }
    return { ...one, segments };
  });
}

/**
 * The listed block that covers an offset into a segment, or -1.
 * @param {import("../data/columns.js").Columns} columns
 * @param {Segment} segment
 * @param {number} offset
 */
export function blockAt(columns, segment, offset) {
  let low = segment.from;
  let high = segment.to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns.block_offset[middle] <= offset) low = middle + 1;
    else high = middle;
  }
  const found = low - 1;
  return found >= segment.from && offset < columns.block_offset[found] + columns.block_bytes[found] ? found : -1;
}
