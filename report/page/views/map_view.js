// @ts-check
// The tab of the map: torch's segments with the blocks in them, at the peak or at the end. The
// pictures stand in a table that has the same figures as text.
import { byId, classOf, hideTip, make, makeChoice, shortName, showTip, sizeCanvas } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { blockAt, readMaps } from "../charts/memory_map.js";
import { fillLegend, makeAmount, makeGrower, makeHead, ROWS_AT_FIRST } from "../elements/table.js";

const PICTURE = 22;
const NARROWEST = 2;

export class MapView {
  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.maps = readMaps(model.page, model.columns);
    this.moment = "peak";
    this.width = "full";
    /** @type {{canvas: HTMLCanvasElement, segment: import("../charts/memory_map.js").Segment}[]} */
    this.pictures = [];
    /** @type {any} */
    this.colours = null;
    this.build();
  }

  build() {
    const panel = byId("map");
    if (!this.maps.length) {
      panel.append(make("p", "lead", sayWhyNone(this.model.page)));
      return;
    }
    const tools = make("div", "tools");
    tools.append(makeChoice("Moment", [["peak", "at the peak"], ["end", "at the end"]], () => this.moment, (word) => {
      this.moment = word;
      this.fill();
    }), makeChoice("Pictures", [["full", "full width each"], ["scale", "one scale"]], () => this.width, (word) => {
      this.width = word;
      this.draw();
    }));
    this.body = make("div");
    panel.append(tools, this.body);
    this.fill();
  }

  fill() {
    const map = this.maps.find((one) => one.moment === this.moment) || this.maps[0];
    this.most = map.segments.reduce((most, one) => Math.max(most, one.bytes), 1);
    const sum = (/** @type {(one: import("../charts/memory_map.js").Segment) => number} */ of) => map.segments.reduce((total, one) => total + of(one), 0);
    const reserved = sum((one) => one.bytes);
    const place = this.model.placeAt(map.seconds);
    const lead = make("p", "lead");
    lead.append(makeAmount(sum((one) => one.used)), ` in ${formatCount(sum((one) => one.count))} blocks, `, makeAmount(sum((one) => one.free)),
      ` free inside segments in ${formatCount(sum((one) => one.holes))} holes; the largest is `,
      makeAmount(map.segments.reduce((most, one) => Math.max(most, one.largest), 0)), ".");
    const title = make("h2", "big", `${formatBytes(reserved)} reserved`);
    title.dataset.bytes = String(reserved);
    this.table = make("table", "rows");
    this.fillSegments(map.segments);
    const legend = make("ul");
    fillLegend(legend, this.levelsOf(map), this.model.page.categories);
    this.body.replaceChildren(title, make("p", "sub", [`In ${formatCount(map.segments.length)} ${map.segments.length === 1 ? "segment" : "segments"}`, place, formatSeconds(map.seconds)].filter((text) => text).join(" \u00b7 ")),
      lead, legend, this.table, make("p", "note", sayRest(map, this.waitingIn(map))));
    this.draw();
  }

  /**
   * Bytes of the listed blocks by category.
   * @param {import("../charts/memory_map.js").MemoryMap} map
   */
  levelsOf(map) {
    const { columns, page } = this.model;
    const levels = new Array(page.categories.length).fill(0);
    for (const segment of map.segments) {
      for (let i = segment.from; i < segment.to; i++) levels[columns.context_category[columns.block_context[i]]] += columns.block_bytes[i];
    }
    return levels;
  }

  /** @param {import("../charts/memory_map.js").MemoryMap} map */
  waitingIn(map) {
    const { columns } = this.model;
    let bytes = 0;
    for (const segment of map.segments) {
      for (let i = segment.from; i < segment.to; i++) bytes += columns.block_waiting[i] ? columns.block_bytes[i] : 0;
    }
    return bytes;
  }

  /** @param {import("../charts/memory_map.js").Segment[]} segments */
  fillSegments(segments) {
    const heads = [["Segment", "right"], ["In blocks", "right wide"], ["Free", "right"], ["Largest hole", "right wide"], ["Blocks", "right wide"],
      ["Stream", "wide"], ["Picture by address", "picture"]];
    const body = make("tbody");
    this.pictures = [];
    const addRows = (/** @type {number} */ from, /** @type {number} */ to) => {
      body.append(...segments.slice(from, to).map((segment) => this.makeRow(segment)));
      if (from) this.draw();
    };
    addRows(0, ROWS_AT_FIRST);
    this.table.replaceChildren(makeHead(heads), body);
    if (segments.length > ROWS_AT_FIRST) this.table.append(makeGrower(segments.length, heads.length, addRows));
  }

  /** @param {import("../charts/memory_map.js").Segment} segment */
  makeRow(segment) {
    const row = make("tr");
    const amount = (/** @type {number} */ bytes, kind = "right") => {
      const cell = make("td", kind, formatBytes(bytes));
      cell.title = formatCount(bytes) + " bytes";
      return cell;
    };
    const picture = make("td", "picture");
    const canvas = make("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Blocks of the segment at 0x${segment.address.toString(16)}`);
    canvas.onmousemove = (/** @type {MouseEvent} */ event) => this.point(event, canvas, segment);
    canvas.onmouseleave = hideTip;
    picture.append(canvas);
    this.pictures.push({ canvas, segment });
    row.append(amount(segment.bytes), amount(segment.used, "right wide"), amount(segment.free), amount(segment.largest, "right wide"),
      make("td", "right wide", formatCount(segment.count)),
      make("td", "wide", segment.stream + (segment.isExpandable ? ", expandable" : "")), picture);
    return row;
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    this.draw();
  }

  /**
   * How wide a segment is drawn.
   * @param {import("../charts/memory_map.js").Segment} segment
   * @param {number} width of the canvas
   */
  widthOf(segment, width) {
    return this.width === "full" ? width : Math.max(NARROWEST, (width * segment.bytes) / this.most);
  }

  draw() {
    if (!this.colours || byId("map").hidden) return;
    for (const { canvas, segment } of this.pictures) this.drawSegment(canvas, segment);
  }

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("../charts/memory_map.js").Segment} segment
   */
  drawSegment(canvas, segment) {
    const { columns } = this.model;
    const { pen, width } = sizeCanvas(canvas, PICTURE);
    const whole = this.widthOf(segment, width);
    const scale = whole / segment.bytes;
    pen.fillStyle = this.colours.frame;
    pen.fillRect(0, 0, whole, PICTURE);
    for (let i = segment.from; i < segment.to; i++) {
      const wide = columns.block_bytes[i] * scale;
      pen.fillStyle = this.colours.fill[columns.context_category[columns.block_context[i]]];
      // A line between neighbours, where there is room for one.
      pen.fillRect(columns.block_offset[i] * scale, 2, wide > 3 ? wide - 1 : wide, PICTURE - 4);
    }
  }

  /**
   * @param {MouseEvent} event
   * @param {HTMLCanvasElement} canvas
   * @param {import("../charts/memory_map.js").Segment} segment
   */
  point(event, canvas, segment) {
    const { columns, page } = this.model;
    const offset = (event.offsetX / this.widthOf(segment, canvas.clientWidth)) * segment.bytes;
    if (offset >= segment.bytes) {
      hideTip();
      return;
    }
    const block = blockAt(columns, segment, offset);
    if (block < 0) {
      showTip(event, [{ text: segment.unlisted ? "free, or small blocks that are not drawn" : "free" }]);
      return;
    }
    const context = columns.block_context[block];
    const category = page.categories[columns.context_category[context]];
    const rows = [{ text: shortName(page.lines[columns.context_line[context]].key), kind: classOf(category) },
      { text: `${formatBytes(columns.block_bytes[block])} (${formatCount(columns.block_bytes[block])} bytes), ${category}` },
      { text: `at 0x${(segment.address + columns.block_offset[block]).toString(16)}` }];
    if (columns.block_waiting[block]) rows.push({ text: "freed; another stream may still use it" });
    showTip(event, rows);
  }
}

/** @param {any} page */
function sayWhyNone(page) {
  if (page.device === "all") return "A map is of one device: make the page without --device all.";
  return "This trace does not have the segments of torch\u2019s allocator: peakline run records them where torch\u2019s own allocator is used and every event is kept.";
}

/**
 * @param {import("../charts/memory_map.js").MemoryMap} map
 * @param {number} waiting bytes
 */
function sayRest(map, waiting) {
  const parts = ["By stream, then by address. Grey is free; a segment with any block in it cannot go back to the device, unless it is expandable."];
  if (waiting) parts.push(`${formatBytes(waiting)} of the blocks are freed, but another stream may still use them.`);
  if (map.unlisted_count) {
    const bytes = map.segments.reduce((sum, one) => sum + one.unlisted, 0);
    parts.push(`The ${formatCount(map.unlisted_count)} smallest blocks, ${formatBytes(bytes)} together, count but are not drawn.`);
  }
  if (map.outside_count) parts.push(`${formatBytes(map.outside_bytes)} in ${formatCount(map.outside_count)} blocks lie in segments that the trace does not know.`);
  return parts.join(" ");
}
