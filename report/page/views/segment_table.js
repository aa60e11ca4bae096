// @ts-check
// The map as a table: the segments in figures, for readers who do not see the picture.
import { make } from "../elements/dom.js";
import { formatCount } from "../elements/format.js";
import { fillRows, makeBytes } from "../elements/table.js";
import { freePieces } from "../data/reserved.js";
import { poolName } from "../charts/segment_rows.js";

/** @typedef {import("../data/allocator_history.js").AllocatorState} AllocatorState */
/** @typedef {import("../data/allocator_history.js").Segment} Segment */

export class SegmentTable {
  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.table = make("table", "rows");
    this.summary = make("summary", "more");
    this.box = make("details");
    this.box.append(this.summary, this.table);
    /** @type {AllocatorState | null} */
    this.state = null;
    this.box.ontoggle = () => this.fillTable();
  }

  /** @param {AllocatorState} state */
  fill(state) {
    this.state = state;
    const { length } = state.segments;
    this.summary.textContent = length === 1 ? "The segment as a table" : `The ${formatCount(length)} segments as a table`;
    this.fillTable();
  }

  fillTable() {
    const { state } = this;
    if (!this.box.open || !state) return;
    const heads = [["Segment", "right"], ["In blocks", "right wide"], ["Free", "right"], ["Largest hole", "right wide"], ["Blocks", "right wide"],
      ["Pool", "wide"], ["Stream", "wide"], ["Address", ""]];
    fillRows(this.table, heads, state.segments, (segment) => this.makeCells(state, segment));
  }

  /**
   * @param {AllocatorState} state
   * @param {Segment} segment
   */
  makeCells(state, segment) {
    let free = 0;
    let hole = 0;
    let largest = 0;
    let end = -1;
    for (const piece of freePieces(state, segment, this.model.columns)) {
      hole = piece.address === end ? hole + piece.bytes : piece.bytes;
      end = piece.address + piece.bytes;
      free += piece.bytes;
      largest = Math.max(largest, hole);
    }
    return [makeBytes(segment.bytes), makeBytes(segment.bytes - free, "right wide"), makeBytes(free), makeBytes(largest, "right wide"),
      make("td", "right wide", formatCount(segment.to - segment.from)), make("td", "wide", poolName(segment)),
      make("td", "wide", (this.model.page.streams[segment.stream] || "unknown stream") + (segment.isExpandable ? ", expandable" : "")),
      make("td", "place", `0x${segment.address.toString(16)}`)];
  }
}
