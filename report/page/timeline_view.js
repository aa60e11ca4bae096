// @ts-check
// The tab of the timeline: axis, zoom, legend, and what is said about it.
import { byId, make, makeChoice } from "./dom.js";
import { formatCount } from "./format.js";
import { listenTo } from "./moment_bar.js";
import { fillLegend } from "./table.js";
import { Timeline } from "./timeline.js";

/** @typedef {import("./moment_bar.js").SetWindow} SetWindow */

export class TimelineView {
  /**
   * @param {import("./model.js").Model} model
   * @param {SetWindow} setWindow
   */
  constructor(model, setWindow) {
    this.model = model;
    /** @type {any} */
    this.colours = null;
    this.canvas = make("canvas");
    this.line = new Timeline(this.canvas, model, { height: innerWidth < 600 ? 240 : 360, axis: true });
    this.build(setWindow);
  }

  /** @param {SetWindow} setWindow */
  build(setWindow) {
    const tools = make("div", "tools");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Memory over the run by category. The bar above chooses the time, the tab Phases has the figures.");
    tools.append(makeChoice("Axis", [["events", "by events"], ["time", "by time"]],
      () => (this.line.byTime ? "time" : "events"), (axis) => {
        this.line.byTime = axis === "time";
        this.line.draw(this.colours);
      }));
    for (const [text, factor, name] of /** @type {[string, number, string][]} */ ([["+", 2, "Closer"], ["\u2212", 0.5, "Wider"]])) {
      const button = make("button", "button", text);
      button.type = "button";
      button.setAttribute("aria-label", name);
      button.onclick = () => this.zoom(factor);
      tools.append(button);
    }
    this.legend = make("ul");
    this.note = make("p", "note");
    byId("timeline").append(tools, this.canvas, this.legend, this.note);
    listenTo(this.line, setWindow);
    this.canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
      event.preventDefault();
      this.line.zoom(Math.exp(-event.deltaY * 0.002), event.clientX - this.canvas.getBoundingClientRect().left);
      this.line.draw(this.colours);
    }, { passive: false });
  }

  /** @param {number} factor */
  zoom(factor) {
    this.line.zoom(factor, this.line.xOf(Math.min(this.line.to - 1, Math.max(this.line.from, this.model.point))));
    this.line.draw(this.colours);
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    const { model } = this;
    this.line.draw(this.colours);
    fillLegend(this.legend, model.categories(), model.page.categories);
    const each = model.page.events_per_point;
    const kept = each * model.ratio;
    this.note.textContent = "Every column shows its highest moment, exact to the byte; the thin line is its lowest. Drag to choose a time; the wheel and +, \u2212 zoom." +
      (kept > 1 ? ` This page keeps the highest moment of every ${formatCount(kept)} events; peakline html --from S --to S makes one that keeps more of a shorter time.` : " Every event is in this page.");
  }
}
