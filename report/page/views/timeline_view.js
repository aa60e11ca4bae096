// @ts-check
// The tab of the timeline: axis, zoom, legend, and the text about it.
import { choices } from "../data/choices.js";
import { byId, make, makeChoice, makeZoomButtons } from "../elements/dom.js";
import { formatCount, formatSeconds } from "../elements/format.js";
import { makeSaveButtons } from "../elements/save.js";
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
    this.line = new Timeline(this.canvas, model, { height: innerWidth < 600 ? 240 : 360, axis: true, follows: true });
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
    this.axis = makeAxisChoice();
    tools.append(this.axis, ...makeZoomButtons((factor) => this.zoom(factor)));
    this.legend = make("ul");
    tools.append(...makeSaveButtons({ name: "timeline", canvas: this.canvas, draw: () => this.line.draw(this.colours), colours: () => this.colours, legend: this.legend }));
    this.note = make("p", "note");
    byId("timeline").append(tools, this.canvas, this.legend, this.note);
    listenTo(this.line, setWindow);
    this.canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
      event.preventDefault();
      this.line.zoom(Math.exp(-event.deltaY * 0.002), event.clientX - this.canvas.getBoundingClientRect().left);
      this.keepZoom();
    }, { passive: false });
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
    this.readZoom();
    this.redraw();
  }

  redraw() {
    const { model, line } = this;
    line.draw(this.colours);
    this.canvas.setAttribute("aria-label", `Memory over the run by ${model.stacked}. The bar above chooses the time, the list below has the figures then.`);
    this.fillLegend();
    this.note.textContent = [
      "Every column shows its highest moment, exact to the byte; the thin line is its lowest.", this.sayReserved(), this.saySeries(), this.sayAxis(),
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
