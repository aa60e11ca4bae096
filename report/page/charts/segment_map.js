// @ts-check
// The map as a picture: the rows that can be seen, on one canvas; the part under the pointer; the
// block, hole or segment that is chosen, and the walk with arrow keys.
import { fitText, sizeCanvas } from "../elements/dom.js";
import { formatBytes } from "../elements/format.js";
import { makeHatch } from "../elements/hatch.js";
import { freePieces } from "../data/reserved.js";
import { groupSegments, layOutRows, rowAbove, sayGroup } from "./segment_rows.js";

/** @typedef {import("../data/allocator_history.js").AllocatorState} AllocatorState */
/** @typedef {import("../data/allocator_history.js").Segment} Segment */
/** @typedef {import("../data/block_looks.js").BlockLook} BlockLook */
/** @typedef {import("./segment_rows.js").MapRow} MapRow */
/**
 * `block`: its index in the state, -1 for a hole; `cause` of a hole.
 * @typedef {{segment: Segment, block: number, address: number, bytes: number, cause: string}} MapPart
 */

const HIGHEST = 560;
const SIZES = 74;  // room for the sizes of segments
const NARROWEST = 2;
const FRAMED = 6;
const MOST_ZOOM = 4096;

export class SegmentMap {
  /**
   * @param {HTMLCanvasElement} canvas that sticks to the top of `scroller`
   * @param {HTMLElement} scroller
   * @param {HTMLElement} room that makes it as high as all rows
   * @param {import("../data/model.js").Model} model
   */
  constructor(canvas, scroller, room, model) {
    this.canvas = canvas;
    this.scroller = scroller;
    this.room = room;
    this.model = model;
    /** @type {AllocatorState | null} */
    this.state = null;
    /** @type {BlockLook | null} */
    this.look = null;
    /** @type {MapRow[]} */
    this.rows = [];
    this.height = 0;
    /** @type {import("./segment_rows.js").SegmentGroup[]} */
    this.groups = [];
    this.widths = "group";
    this.zoom = 1;
    this.offset = 0;
    /** @type {MapPart | null} */
    this.chosen = null;
    /** Blocks of other lines are pale; -1: none is. */
    this.line = -1;
    /** @type {Map<Segment, import("../data/reserved.js").FreePiece[]>} */
    this.holes = new Map();
  }

  /**
   * @param {AllocatorState} state
   * @param {BlockLook} look
   */
  set(state, look) {
    const { page, columns } = this.model;
    this.look = look;
    if (state === this.state) return;
    this.state = state;
    const groups = groupSegments(state, page.streams, columns.block_bytes);
    this.groups = groups;
    this.layOut(this.widths);
    this.holes = new Map();
    this.chosen = this.chosen && this.partOf(this.chosen.address);
  }

  /** @param {string} widths of WIDTHS */
  layOut(widths) {
    this.widths = widths;
    const { rows, height } = layOutRows(this.groups, widths);
    this.rows = rows;
    this.height = height;
  }

  /** @param {Segment} segment */
  holesOf(segment) {
    let holes = this.holes.get(segment);
    if (!holes) this.holes.set(segment, (holes = freePieces(/** @type {AllocatorState} */ (this.state), segment, this.model.columns)));
    return holes;
  }

  get left() {
    return this.canvas.clientWidth > 500 && this.widths !== "packed" ? SIZES : 0;
  }

  /** @param {any} colours */
  draw(colours) {
    if (!this.state) return;
    const seen = Math.min(this.height, HIGHEST);
    this.room.style.height = Math.max(0, this.height - seen) + "px";
    this.scroller.style.maxHeight = seen + 2 + "px";
    const { pen, width } = sizeCanvas(this.canvas, Math.max(1, seen));
    const hatches = Object.fromEntries(["whole", "pinned", "unit", "partial", "private"].map((cause) => [cause, makeHatch(pen, cause, colours)]));
    const over = makeHatch(pen, "waiting", colours, true);
    const top = this.scroller.scrollTop;
    const first = Math.max(0, rowAbove(this.rows, top));
    for (let i = first; i < this.rows.length && this.rows[i].y < top + seen; i++) {
      const row = this.rows[i];
      const above = i > 0 && this.rows[i - 1].segment;
      const isNamed = row.height >= 12 || !above || !row.segment || above.bytes !== row.segment.bytes;
      if (row.segment) this.drawSegment(pen, row, row.y - top, width, { colours, hatches, over, isNamed });
      else this.drawHead(pen, row, row.y - top, width, colours);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen @param {MapRow} row @param {number} y @param {number} width
   * @param {any} colours
   */
  drawHead(pen, row, y, width, colours) {
    const { name } = row.group;
    pen.textAlign = "left";
    pen.fillStyle = colours.text;
    pen.fillText(fitText(pen, name[0].toUpperCase() + name.slice(1), width), 0, y + row.height / 2 + 2);
    const room = width - pen.measureText(name).width - 16;
    pen.fillStyle = colours.muted;
    pen.textAlign = "right";
    pen.fillText(room > 60 ? fitText(pen, sayGroup(row.group), room) : "", width, y + row.height / 2 + 2);
    pen.textAlign = "left";
  }

  /**
   * @param {CanvasRenderingContext2D} pen @param {MapRow} row @param {number} y @param {number} width
   * @param {{colours: any, hatches: Record<string, CanvasPattern>, over: CanvasPattern, isNamed: boolean}} paint
   * its size is written beside it, or it is that of the one above
   */
  drawSegment(pen, row, y, width, paint) {
    const segment = /** @type {Segment} */ (row.segment);
    const { left } = this;
    const { colours } = paint;
    if (left && paint.isNamed) {
      pen.fillStyle = colours.muted;
      pen.textAlign = "right";
      pen.fillText(formatBytes(segment.bytes), left - 8, y + row.height / 2);
      pen.textAlign = "left";
    }
    const x = this.xOf(row, width);
    pen.save();
    pen.beginPath();
    pen.rect(left, y, width - left, row.height);
    pen.clip();
    let filled = -1;  // pixels before it are
    for (const hole of this.holesOf(segment)) {
      const from = x(hole.address);
      const to = x(hole.address + hole.bytes);
      if (to < left || from > width || to < filled) continue;
      filled = Math.floor(from) + 1;
      pen.fillStyle = paint.hatches[hole.cause];
      pen.fillRect(from, y, Math.max(1, to - from), row.height);
    }
    this.drawBlocks(pen, row, y, width, paint);
    const begin = x(segment.address);
    const wide = x(segment.address + segment.bytes) - begin;
    pen.strokeStyle = colours.muted;
    // Borders would be all that is seen of very narrow ones.
    if (wide >= FRAMED) pen.strokeRect(begin + 0.5, y + 0.5, wide - 1, row.height - 1);
    if (this.chosen && this.chosen.segment === segment) {
      const { address, bytes } = this.chosen;
      pen.strokeStyle = colours.text;
      pen.lineWidth = 3;
      pen.strokeRect(x(address) + 1, y + 1, Math.max(2, x(address + bytes) - x(address) - 2), row.height - 2);
    }
    pen.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} pen @param {MapRow} row @param {number} y @param {number} width
   * @param {{colours: any, over: CanvasPattern}} paint
   */
  drawBlocks(pen, row, y, width, { colours, over }) {
    const { columns } = this.model;
    const state = /** @type {AllocatorState} */ (this.state);
    const look = /** @type {BlockLook} */ (this.look);
    const segment = /** @type {Segment} */ (row.segment);
    const x = this.xOf(row, width);
    const { fills, ons } = look.kinds === this.model.page.categories
      ? { fills: colours.fill, ons: colours.on }
      : { fills: [...colours.series, colours.rest], ons: [...colours.onSeries, colours.text] };
    let filled = -1;  // pixels before it are
    for (let i = segment.from; i < segment.to; i++) {
      const block = state.blocks[i];
      const from = x(columns.block_address[block]);
      if (from > width) break;
      const wide = x(columns.block_address[block] + columns.block_bytes[block]) - from;
      if (from + wide < this.left || (wide < 0.6 && from + wide < filled)) continue;
      filled = Math.floor(from) + 1;
      const number = look.of(block);
      pen.globalAlpha = this.line >= 0 && columns.context_line[columns.block_context[block]] !== this.line ? 0.22 : 1;
      pen.fillStyle = fills[number];
      // A line between neighbours, where there is room for one.
      const begin = Math.round(from);
      const shown = Math.max(1, Math.round(from + wide) - begin - (wide > 3 ? 1 : 0));
      pen.fillRect(begin, y, shown, row.height);
      if (state.waiting[i]) {
        pen.fillStyle = over;
        pen.fillRect(begin, y, shown, row.height);
      } else if (wide > 60 && row.height >= 14) {
        const text = Math.max(from, this.left) + 5;
        pen.fillStyle = ons[number];
        pen.fillText(fitText(pen, this.labelOf(block), Math.min(from + wide, width) - text - 5), text, y + row.height / 2 + 0.5);
      }
    }
    pen.globalAlpha = 1;
  }

  /**
   * The file's name, its line and the function.
   * @param {number} block
   */
  labelOf(block) {
    const { page, columns } = this.model;
    return page.lines[columns.context_line[columns.block_context[block]]].key.slice(0, 400).replace(/^[^ ]*\//, "");
  }

  /**
   * From an address to pixels.
   * @param {MapRow} row
   * @param {number} width
   */
  xOf(row, width) {
    const { left, zoom } = this;
    const { address, bytes } = /** @type {Segment} */ (row.segment);
    const scale = (Math.max(NARROWEST / bytes, (width - left) / row.most)) * zoom;
    const begin = left + (row.begin / row.most - this.offset) * (width - left) * zoom;
    return (/** @type {number} */ at) => begin + (at - address) * scale;
  }

  /**
   * The part under the pointer; null on a head and beside a segment.
   * @param {MouseEvent} event
   * @returns {MapPart | null}
   */
  partAt(event) {
    const y = event.offsetY + this.scroller.scrollTop;
    const first = rowAbove(this.rows, y);
    for (let i = first; i >= 0 && i < this.rows.length && this.rows[i].y === this.rows[first].y; i++) {
      const row = this.rows[i];
      if (!row.segment || y > row.y + row.height + 3 || event.offsetX < this.left) continue;
      const x = this.xOf(row, this.canvas.clientWidth);
      const begin = x(row.segment.address);
      const share = (event.offsetX - begin) / (x(row.segment.address + row.segment.bytes) - begin);
      if (share >= 0 && share < 1) return this.partIn(row.segment, row.segment.address + share * row.segment.bytes);
    }
    return null;
  }

  /**
   * @param {Segment} segment
   * @param {number} address
   * @returns {MapPart | null}
   */
  partIn(segment, address) {
    const { columns } = this.model;
    const state = /** @type {AllocatorState} */ (this.state);
    let low = segment.from;
    let high = segment.to;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (columns.block_address[state.blocks[middle]] <= address) low = middle + 1;
      else high = middle;
    }
    const block = low > segment.from ? state.blocks[low - 1] : -1;
    if (block >= 0 && address < columns.block_address[block] + columns.block_bytes[block]) {
      return { segment, block: low - 1, address: columns.block_address[block], bytes: columns.block_bytes[block], cause: "" };
    }
    const hole = this.holesOf(segment).find((one) => address >= one.address && address < one.address + one.bytes);
    return hole ? { segment, block: -1, address: hole.address, bytes: hole.bytes, cause: hole.cause } : null;
  }

  /** @param {number} address */
  partOf(address) {
    const row = this.rows.find(({ segment }) => segment && address >= segment.address && address < segment.address + segment.bytes);
    return row && row.segment ? this.partIn(row.segment, address) : null;
  }

  /**
   * Arrow keys: to the neighbours in a segment, or to the segment above or below.
   * @param {string} key
   */
  step(key) {
    const rows = this.rows.filter((row) => row.segment);
    if (!rows.length) return;
    const { chosen } = this;
    let at = chosen ? rows.findIndex((row) => row.segment === chosen.segment) : -1;
    if (!chosen || at < 0) this.choose(this.partIn(/** @type {Segment} */ (rows[0].segment), /** @type {Segment} */ (rows[0].segment).address));
    else if (key === "ArrowLeft" || key === "ArrowRight") {
      const next = this.partIn(chosen.segment, key === "ArrowLeft" ? chosen.address - 1 : chosen.address + chosen.bytes);
      if (next) this.choose(next);
    } else {
      at = Math.max(0, Math.min(rows.length - 1, at + (key === "ArrowUp" ? -1 : 1)));
      const segment = /** @type {Segment} */ (rows[at].segment);
      this.choose(this.partIn(segment, segment.address));
    }
  }

  /** @param {MapPart | null} part is scrolled to */
  choose(part) {
    this.chosen = part;
    const row = part && this.rows.find(({ segment }) => segment === part.segment);
    if (!row) return;
    const seen = Math.min(this.height, HIGHEST);
    if (row.y < this.scroller.scrollTop) this.scroller.scrollTop = row.y - 30;
    if (row.y + row.height > this.scroller.scrollTop + seen) this.scroller.scrollTop = row.y + row.height - seen + 8;
  }

  /**
   * Closer, or wider, around a pixel or the part that is chosen.
   * @param {number} factor
   * @param {number} [pixel]
   */
  zoomBy(factor, pixel) {
    const width = this.canvas.clientWidth - this.left;
    const row = this.chosen && this.rows.find(({ segment }) => this.chosen && segment === this.chosen.segment);
    let at = pixel === undefined ? width / 2 : pixel - this.left;
    if (pixel === undefined && row && this.chosen) {
      const x = this.xOf(row, this.canvas.clientWidth);
      at = x(this.chosen.address + this.chosen.bytes / 2) - this.left;
    }
    const place = this.offset + at / width / this.zoom;
    this.zoom = Math.max(1, Math.min(MOST_ZOOM, this.zoom * factor));
    const target = pixel === undefined ? 0.5 : at / width;
    this.moveTo(place - target / this.zoom);
  }

  /** @param {number} offset of 1 */
  moveTo(offset) {
    this.offset = Math.max(0, Math.min(1 - 1 / this.zoom, offset));
  }
}
