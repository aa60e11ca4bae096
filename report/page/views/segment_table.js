// @ts-check
// The map as a table: the segments in figures, for who does not see the picture.
import { make } from "../elements/dom.js";
import { formatBytes, formatCount } from "../elements/format.js";
import { makeGrower, makeHead, ROWS_AT_FIRST } from "../elements/table.js";
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
    const body = make("tbody");
    const add = (/** @type {number} */ from, /** @type {number} */ to) =>
      body.append(...state.segments.slice(from, to).map((segment) => this.makeRow(state, segment)));
    add(0, ROWS_AT_FIRST);
    this.table.replaceChildren(makeHead(heads), body);
    if (state.segments.length > ROWS_AT_FIRST) this.table.append(makeGrower(state.segments.length, heads.length, add));
  }

  /**
   * @param {AllocatorState} state
   * @param {Segment} segment
   */
  makeRow(state, segment) {
    const row = make("tr");
    const amount = (/** @type {number} */ bytes, kind = "right") => {
      const cell = make("td", kind, formatBytes(bytes));
      cell.title = formatCount(bytes) + " bytes";
      return cell;
    };
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
    row.append(amount(segment.bytes), amount(segment.bytes - free, "right wide"), amount(free), amount(largest, "right wide"),
      make("td", "right wide", formatCount(segment.to - segment.from)), make("td", "wide", poolName(segment)),
      make("td", "wide", (this.model.page.streams[segment.stream] || "unknown stream") + (segment.isExpandable ? ", expandable" : "")),
      make("td", "place", `0x${segment.address.toString(16)}`));
    return row;
  }
}
