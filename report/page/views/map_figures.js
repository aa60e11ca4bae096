// @ts-check
// Beside the map: the bar of causes, which sums to the reserved bytes, and the lines that pin segments.
import { make, makeButton, makePlaceText } from "../elements/dom.js";
import { formatBytes, formatCount, formatShare, formatSpan } from "../elements/format.js";
import { paintCause } from "../elements/hatch.js";
import { makeSource } from "../elements/source.js";
import { fillRows, makeAmount, makeBytes, makePlace } from "../elements/table.js";
import { medianOf } from "../data/median.js";
import { CAUSES } from "../data/reserved.js";

/** @typedef {import("../data/reserved.js").Pin} Pin */

/** Name, meaning and remedy of each cause. */
const CAUSE_TEXTS = {
  live: ["live", "In blocks of the program.", "The tab Lines shows the lines that hold them."],
  waiting: ["waiting", "Freed, but another stream may still use it (record_stream).", "It comes back when the work of that stream is done: wait for it earlier, or free later."],
  whole: ["whole", "Segments without a block: a cache for later requests, no fragmentation.", "torch.cuda.empty_cache() returns them, and torch does so by itself before it runs out of memory."],
  pinned: ["pinned", "Free, but beside live blocks in the same segment.", "It serves smaller requests of its stream. To give it back, the blocks of the lines below must go; expandable_segments:True has little of it."],
  unit: ["unit", "Whole units of expandable segments without a block.", "torch.cuda.empty_cache() returns them, and torch does so by itself before it runs out of memory."],
  partial: ["partial", "The free rest of units that have a block.", "It serves requests of its stream; to give it back, the blocks of the lines below must go."],
  private: ["private", "Free in pools of CUDA graphs or of the program (MemPool): no other request may use it.", "Let graphs share one pool, or delete those that are not replayed any more."],
};

/** @typedef {keyof typeof CAUSE_TEXTS} Cause */

/** Lines that keep nothing alone are listed up to this. */
const FEWEST_PINS = 8;

/** @param {number} count */
const sayMore = (count) => (count ? `${formatCount(count)} more lines only share segments with others. ` : "");

/** @param {string} cause */
export const textsOfCause = (cause) => CAUSE_TEXTS[/** @type {Cause} */ (cause)];

export class CausesPanel {
  constructor() {
    this.box = make("div", "causes");
    /** @type {[HTMLCanvasElement, string][]} */
    this.painted = [];
  }

  /** @param {ReturnType<typeof import("../data/reserved.js").findCauses>} found */
  fill(found) {
    const parts = CAUSES.filter((cause) => found.bytes[cause] > 0);
    this.painted = [];
    const bar = make("div", "mix tall");
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", parts.map((cause) => `${cause} ${formatShare(found.bytes[cause] / found.reserved)}`).join(", "));
    const list = make("dl");
    for (const cause of parts) {
      const part = this.makeSwatch(cause);
      part.style.flexGrow = String(found.bytes[cause]);
      bar.append(part);
      const [name, meaning, change] = textsOfCause(cause);
      const term = make("dt");
      term.dataset.cause = cause;
      term.append(this.makeSwatch(cause), name, " ", makeAmount(found.bytes[cause]), " " + formatShare(found.bytes[cause] / found.reserved));
      list.append(term, make("dd", "", [meaning, cause === "live" ? sayParts(found) : "", change].filter((text) => text).join(" ")));
    }
    this.box.replaceChildren(bar, list);
  }

  /** @param {string} cause */
  makeSwatch(cause) {
    const canvas = make("canvas");
    this.painted.push([canvas, cause]);
    return canvas;
  }

  /** @param {any} colours */
  draw(colours) {
    for (const [canvas, cause] of this.painted) paintCause(canvas, cause, colours);
  }
}

/** @param {ReturnType<typeof import("../data/reserved.js").findCauses>} found */
function sayParts(found) {
  const parts = [[found.rounding, "rounding to 512 bytes"], [found.divisions, "rounding by roundup_power2_divisions"], [found.unsplit, "remainders too small to be split off"]];
  const texts = parts.filter(([bytes]) => bytes).map(([bytes, reason]) => `${formatBytes(Number(bytes))} is ${reason}`);
  return texts.length ? `Of it ${texts.join(", ")}.` : "";
}

export class PinsPanel {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {(line: number) => void} highlight
   */
  constructor(model, highlight) {
    this.model = model;
    this.highlight = highlight;
    this.table = make("table", "rows");
    this.sets = make("div", "sets");
    this.note = make("p", "note");
    this.title = make("h2", "", "Lines that pin segments");
    this.title.append(make("small", "", "memory that would go back to the device without a line\u2019s blocks, beyond empty_cache()"));
    this.box = make("div");
    this.box.append(this.title, this.table, this.sets, this.note);
  }

  /** @param {ReturnType<typeof import("../data/reserved.js").findPins>} pins */
  fill(pins) {
    const heads = [["Goes back", "right"], ["Of it free", "right"], ["Shared", "right wide"], ["Own", "right wide"], ["Blocks", "right wide"],
      ["Live for", "right wide"], ["Freed", "right wide"], ["Line", ""], ["", ""]];
    const all = pins.lines.filter((pin) => pin.sole || pin.shared);
    const rows = all.slice(0, Math.max(FEWEST_PINS, all.filter((pin) => pin.sole).length));
    fillRows(this.table, heads, rows, (pin, row) => this.makeCells(pin, row));
    this.table.hidden = !rows.length;
    this.sets.replaceChildren(...pins.sets.map((set) => this.makeSet(set)));
    this.note.textContent = rows.length
      ? sayMore(all.length - rows.length) + "Shared: blocks of other lines lie in the same segments, or units of expandable ones. Live for: the median of the lives of the blocks that this page knows to be freed. Lines that live long pin what lines that live short leave."
      : "No line keeps a segment: what is free here goes back with torch.cuda.empty_cache().";
  }

  /**
   * @param {Pin} pin
   * @param {HTMLElement} row
   */
  makeCells(pin, row) {
    const { page } = this.model;
    const line = page.lines[pin.line];
    const lives = this.livesOf(pin);
    row.dataset.sole = String(pin.sole);
    const location = makePlace(line.key);
    const source = makeSource(page, line);
    if (source) location.append(source);
    const show = makeButton("in the map", () => this.highlight(pin.line), "link");
    show.setAttribute("aria-label", "Show the blocks of this line in the map");
    const last = make("td");
    last.append(show);
    return [makeBytes(pin.sole), makeBytes(pin.soleFree), makeBytes(pin.shared, "right wide"), makeBytes(pin.own, "right wide"),
      make("td", "right wide", formatCount(pin.blocks.length)), make("td", "right wide", lives.median), make("td", "right wide", lives.freed), location, last];
  }

  /** @param {Pin} pin */
  livesOf({ blocks }) {
    const { columns, page } = this.model;
    const lived = blocks.map((block) => columns.block_lived[block]).filter((ticks) => ticks > 0);
    return { median: lived.length ? formatSpan((medianOf(lived) - 1) * page.tick_seconds) : "\u2013",
      freed: `${formatCount(lived.length)} of ${formatCount(blocks.length)}` };
  }

  /** @param {import("../data/reserved.js").PinningSet} set */
  makeSet(set) {
    const details = make("details");
    const summary = make("summary", "more", `These ${formatCount(set.lines.length)} lines together: `);
    summary.append(makeAmount(set.bytes));
    const list = make("ul", "vias");
    for (const line of set.lines) {
      const item = make("li");
      item.append(makePlaceText(this.model.page.lines[line].key));
      list.append(item);
    }
    details.append(summary, list);
    return details;
  }
}
