// @ts-check
// The tab of the timeline: axis, zoom, legend, and the text about it.
import { choices } from "../data/choices.js";
import { byId, make, makeChoice, makeZoomButtons, shortName, showTip } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { makeSaveButtons } from "../elements/save.js";
import { makeBlockPanel, rowOfBlock, whatOf } from "./block_details.js";
import { listenTo, makeAxisChoice } from "./moment_bar.js";
import { SERIES_KINDS } from "../data/series.js";
import { fillLegend, makeLegendItem } from "../elements/table.js";
import { Timeline } from "../charts/timeline.js";

/** @typedef {import("./moment_bar.js").SetWindow} SetWindow */

export class TimelineView {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {SetWindow} setWindow
   * @param {(stacked: string) => void} setStacked of the keys of the model
   */
  constructor(model, setWindow, setStacked) {
    this.model = model;
    /** @type {any} */
    this.colours = null;
    this.canvas = make("canvas");
    this.line = new Timeline(this.canvas, model, { height: heightOf(false), axis: true, follows: true });
    this.build(setWindow, setStacked);
  }

  /**
   * @param {SetWindow} setWindow
   * @param {(stacked: string) => void} setStacked
   */
  build(setWindow, setStacked) {
    const tools = make("div", "tools");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.stacked = makeChoice("Stacked by", this.model.rowKeys, () => this.model.stacked, setStacked);
    tools.append(this.stacked);
    this.shows = makeChoice("Show", [["levels", "levels"], ["blocks", "every block"]], () => choices.get("show", "levels"), (word) => choices.set("show", word, "levels"));
    this.shows.hidden = this.model.tensors.count === 0;
    tools.append(this.shows);
    this.axis = makeAxisChoice();
    tools.append(this.axis, ...makeZoomButtons((factor) => this.zoom(factor)));
    this.legend = make("ul");
    tools.append(...makeSaveButtons({ name: "timeline", canvas: this.canvas, draw: () => this.line.draw(this.colours), colours: () => this.colours, legend: this.legend }));
    this.note = make("p", "note");
    this.block = make("div");
    byId("timeline").append(tools, this.canvas, this.legend, this.block, this.note);
    listenTo(this.line, setWindow);
    this.listenToBlocks();
    this.canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
      event.preventDefault();
      this.line.zoom(Math.exp(-event.deltaY * 0.002), event.clientX - this.canvas.getBoundingClientRect().left);
      this.keepZoom();
    }, { passive: false });
  }

  /** The pointer outlines a block over its life, a click shows it. */
  listenToBlocks() {
    const { canvas, line } = this;
    let begin = -1;
    const outline = (/** @type {number} */ block) => {
      if (line.blocks.outlined[0] === block) return;
      line.blocks.outlined[0] = block;
      if (this.colours) line.draw(this.colours);
    };
    canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      if (!line.blocks.isOn || event.buttons) return;
      const block = line.blocks.at(event);
      outline(block);
      if (block >= 0) showTip(event, this.tipOf(block));
    });
    canvas.addEventListener("pointerleave", () => outline(-1));
    canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => (begin = event.clientX));
    canvas.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const block = line.blocks.at(event);
      if (block >= 0 && Math.abs(event.clientX - begin) < 4) choices.set("block", String(block));
    });
  }

  /** @param {number} block */
  tipOf(block) {
    const row = rowOfBlock(this.model, block);
    const life = `${row.made === null ? "made before" : formatSeconds(row.made)} to ${row.freed === null ? "the end" : formatSeconds(row.freed)}`;
    return [`${formatBytes(row.bytes)}  ${shortName(whatOf(row))}`, row.type, shortName(row.line), life].filter((text) => text).map((text) => ({ text }));
  }

  /** The block that was clicked. */
  showBlock() {
    const word = choices.get("block");
    const block = this.line.blocks.isOn && /^\d+$/.test(word) && Number(word) < this.model.tensors.count ? Number(word) : -1;
    this.line.blocks.outlined[1] = block;
    if (this.block.dataset.block === String(block)) return;
    this.block.dataset.block = String(block);
    this.block.replaceChildren(...(block < 0 ? [] : [makeBlockPanel(this.model, block)]));
  }

  /** @param {number} factor */
  zoom(factor) {
    this.line.zoom(factor, this.line.xOf(Math.min(this.line.to - 1, Math.max(this.line.from, this.model.point))));
    this.keepZoom();
  }

  /** The part that is drawn, in the address. */
  keepZoom() {
    const { from, to } = this.line;
    choices.set("zoom", from === 0 && to === this.model.pointCount ? "" : `${from}-${to}`);
    this.redraw();
  }

  readZoom() {
    const [from, to] = choices.get("zoom").split("-").map(Number);
    const isPart = from >= 0 && to > from && to <= this.model.pointCount;
    this.line.from = isPart ? from : 0;
    this.line.to = isPart ? to : this.model.pointCount;
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    this.stacked.refresh();
    this.axis.refresh();
    this.shows.refresh();
    this.line.blocks.isOn = !this.shows.hidden && choices.get("show", "levels") === "blocks";
    this.line.look.height = heightOf(this.line.blocks.isOn);
    this.showBlock();
    this.readZoom();
    this.redraw();
  }

  redraw() {
    const { model, line } = this;
    line.draw(this.colours);
    this.canvas.setAttribute("aria-label", `Memory over the run by ${model.stacked}. The bar above chooses the time, the list below has the figures then.`);
    this.fillLegend();
    this.note.textContent = [
      "Every column shows its highest moment, exact to the byte; the thin line is its lowest.", this.sayReserved(), this.saySeries(), this.sayBlocks(), this.sayAxis(),
      "Drag to choose a time; the wheel and +, \u2212 zoom.", this.sayKept()].filter((text) => text).join(" ");
  }

  /** The figures of the moment shown, largest first. */
  fillLegend() {
    const { model, line } = this;
    const { series } = line;
    if (!series) fillLegend(this.legend, model.categories(), model.page.categories, line.drawnCategories());
    else {
      const sums = series.groups.sums(model.now);
      const parts = series.chosen.map((group) => sums[group]);
      parts.push(model.bytes - parts.reduce((sum, one) => sum + one, 0));
      this.legend.className = "legend";
      const order = [...parts.keys()].filter((i) => i < series.chosen.length || parts[i] > 0).sort((a, b) => parts[b] - parts[a]);
      this.legend.replaceChildren(...order.map((i) => makeLegendItem(series.kinds[i], series.names[i], parts[i], parts[i] / (model.bytes || 1))));
    }
    if (model.reservedPyramid) this.legend.append(makeLegendItem("reserved", "reserved by torch", model.reserved[model.point]));
  }

  sayAxis() {
    const { line, model } = this;
    if (!line.byTime) return "Equal widths are equal numbers of events; the seconds below are those of their place.";
    return model.workEnd < model.end && line.to === model.pointCount ? `The last ${formatSeconds(model.end - model.workEnd)} are cut off: memory was only freed.` : "";
  }

  sayReserved() {
    return this.model.reservedPyramid ? "The line above the stack is the most that torch had reserved for its segments." : "";
  }

  sayBlocks() {
    const { stripes, isOn } = this.line.blocks;
    if (!stripes || !isOn) return "";
    return `${formatCount(stripes.shownCount)} blocks of ${formatBytes(Math.ceil(stripes.least))} or more have a stripe each, the oldest below; what is plain above them are the smaller ones. A click shows a block.`;
  }

  saySeries() {
    const { series, columns } = this.line;
    if (!series) return "";
    const heights = series.chosen.length < SERIES_KINDS.length ? `Every ${this.model.stacked} stands at its own height.`
      : `The ${SERIES_KINDS.length} that are highest in the time drawn stand at their own heights; the rest is what the total has beyond them.`;
    if (!series.nearCount) return heights;
    return `${heights} Of ${formatCount(columns.length)} columns, ${formatCount(series.nearCount)} show the split of the nearest moment that this page keeps, cut at their total.`;
  }

  sayKept() {
    const kept = this.model.page.events_per_point * this.model.ratio;
    return kept > 1 ? `This page keeps the highest moment of every ${formatCount(kept)} events; peakline html --from S --to S makes one that keeps more of a shorter time.` : "Every event is in this page.";
  }
}

/**
 * CSS pixels. The higher, the more blocks have a stripe.
 * @param {boolean} byBlock
 */
function heightOf(byBlock) {
  if (innerWidth < 600) return byBlock ? 360 : 240;
  return byBlock ? 560 : 360;
}
