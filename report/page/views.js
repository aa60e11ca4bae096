// @ts-check
// What the tabs show of the model. One object for all of them: they share the window and the colours.
import { byId, classOf, hideTip, make, makeChoice, readColours, showTip } from "./dom.js";
import { FlameView } from "./flame_view.js";
import { formatBytes, formatCount, formatSeconds, formatShare } from "./format.js";
import { fillLegend, fillTable } from "./table.js";
import { Timeline } from "./timeline.js";

/** @typedef {import("./model.js").Model} Model */

const MOST_PHASES = 2000;
const LINE_KEYS = ["line", "function", "file", "module", "operator", "category", "phase", "lifetime"];

export class Views {
  /**
   * @param {Model} model
   * @param {(window: {from: number, to: number} | null) => void} setWindow
   */
  constructor(model, setWindow) {
    this.model = model;
    this.setWindow = setWindow;
    this.by = "line";
    this.colours = readColours(model.page.categories);
    this.bar = new Timeline(byId("bar"), model, { height: 44, axis: false });
    this.listenTo(this.bar);
    this.flame = new FlameView(model);
    this.summaryLine = new Timeline(byId("summary-timeline"), model, { height: 150, axis: true });
    this.timeCanvas = make("canvas");
    this.line = new Timeline(this.timeCanvas, model, { height: innerWidth < 600 ? 240 : 360, axis: true });
    this.makeSummary();
    this.makeLines();
    this.makeTimeline();
    this.makeModules();
    this.makePhases();
  }

  /**
   * Tip and choice of a window by dragging.
   * @param {Timeline} line
   */
  listenTo(line) {
    const { model } = this;
    let begin = -1;
    const canvas = line.canvas;
    canvas.onpointerdown = (event) => {
      if (event.button !== 0) return;
      begin = line.momentOf(event.clientX);
      canvas.setPointerCapture(event.pointerId);
      hideTip();
    };
    canvas.onpointermove = (event) => {
      if (begin < 0) return this.tipOfPoint(line, event);
      const at = line.momentOf(event.clientX);
      if (at !== begin || model.window) this.setWindow({ from: Math.min(begin, at), to: Math.max(begin, at) + 1 });
    };
    canvas.onpointerup = (event) => {
      const at = line.momentOf(event.clientX);
      if (begin >= 0 && at === begin) this.setWindow({ from: at, to: at + 1 });
      begin = -1;
    };
    canvas.onpointerleave = hideTip;
  }

  /**
   * The moment under the pointer, with its three largest lines.
   * @param {Timeline} line
   * @param {PointerEvent} event
   */
  tipOfPoint(line, event) {
    const { model } = this;
    const x = event.clientX - line.canvas.getBoundingClientRect().left;
    const first = line.pointOf(x);
    const behind = Math.max(first + 1, Math.min(line.to, line.pointOf(x + 1)));
    const { best } = model.pyramid.range(first, behind);
    const moment = Math.floor(best / model.ratio);
    /** @type {{text: string, kind?: string}[]} */
    const rows = [{ text: `${formatBytes(model.high[best])} at ${formatSeconds(model.peakAt[best])}` }];
    const place = model.placeAt(model.peakAt[best]);
    if (place) rows.push({ text: place });
    for (const category of model.stacking.slice().reverse()) {
      const bytes = model.levelOf(best, category);
      if (bytes > model.high[best] * 0.002) {
        rows.push({ text: `${model.page.categories[category]}  ${formatBytes(bytes)}`, kind: classOf(model.page.categories[category]) });
      }
    }
    const top = model.rows("line", model.live.at(moment)).slice(0, 3);
    for (const row of top) rows.push({ text: `${formatBytes(row.bytes)}  ${row.key.slice(0, 300)}` });
    showTip(event, rows);
  }

  makeSummary() {
    byId("summary-time").hidden = false;
    this.listenTo(this.summaryLine);
  }

  makeLines() {
    const tools = make("div", "tools");
    this.find = make("input");
    this.find.type = "search";
    this.find.placeholder = "file, function, name";
    this.find.setAttribute("aria-label", "Find rows");
    this.find.oninput = () => this.showLines();
    tools.append(this.find, makeChoice("Rows are", LINE_KEYS.map((key) => [key, key]), () => this.by, (key) => {
      this.by = key;
      this.showLines();
    }));
    this.lineTable = make("table");
    this.lineNote = make("p", "note");
    this.lineNote.id = "sum";
    byId("lines").append(tools, this.lineTable, this.lineNote);
  }

  showLines() {
    const { model } = this;
    const wanted = this.find.value.trim().toLowerCase();
    const all = model.rows(this.by);
    const rows = wanted ? all.filter((row) => row.key.toLowerCase().includes(wanted)) : all;
    fillTable(this.lineTable, rows, { total: model.bytes, categories: model.page.categories, name: this.by,
      more: (row) => (this.by === "line" ? this.sourceOf(row.line) : null) });
    const sum = rows.reduce((total, row) => total + row.bytes, 0);
    this.lineNote.dataset.bytes = String(sum);
    const count = formatCount(rows.length) + (rows.length === 1 ? " row sums" : " rows sum");
    this.lineNote.textContent = `${wanted ? `Found: ${formatBytes(sum)}, ${formatShare(sum / model.bytes)}. ` : ""}` +
      `${count} to ${formatCount(sum)} bytes${wanted ? "" : ", the memory at this moment"}.`;
  }

  /**
   * A few lines of the program around a line, where the page has them.
   * @param {number} id
   */
  sourceOf(id) {
    const { page } = this.model;
    const line = page.lines[id];
    const source = page.sources && page.sources[`${line.path}:${line.line}`];
    if (!source) return null;
    const details = make("details");
    const text = make("pre");
    text.tabIndex = 0;
    source.lines.forEach((/** @type {string} */ one, /** @type {number} */ i) => {
      const number = source.first + i;
      text.append(make(number === line.line ? "b" : "span", "", `${String(number).padStart(5)}  ${one}\n`));
    });
    details.append(make("summary", "more", "source"), text);
    return details;
  }

  makeTimeline() {
    const tools = make("div", "tools");
    this.timeCanvas.tabIndex = 0;
    this.timeCanvas.setAttribute("role", "img");
    this.timeCanvas.setAttribute("aria-label", "Memory over the run by category. The bar above chooses the time, the tab Phases has the figures.");
    tools.append(makeChoice("Axis", [["events", "by events"], ["time", "by time"]],
      () => (this.line.byTime ? "time" : "events"), (axis) => {
        this.line.byTime = axis === "time";
        this.line.draw(this.colours);
      }));
    for (const [text, factor, name] of /** @type {[string, number, string][]} */ ([["+", 2, "Closer"], ["\u2212", 0.5, "Wider"]])) {
      const button = make("button", "button", text);
      button.type = "button";
      button.setAttribute("aria-label", name);
      button.onclick = () => this.zoomTimeline(factor);
      tools.append(button);
    }
    this.timeLegend = make("ul");
    this.timeNote = make("p", "note");
    byId("timeline").append(tools, this.timeCanvas, this.timeLegend, this.timeNote);
    this.listenTo(this.line);
    this.timeCanvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
      event.preventDefault();
      this.line.zoom(Math.exp(-event.deltaY * 0.002), event.clientX - this.timeCanvas.getBoundingClientRect().left);
      this.line.draw(this.colours);
    }, { passive: false });
  }

  /** @param {number} factor */
  zoomTimeline(factor) {
    this.line.zoom(factor, this.line.xOf(Math.min(this.line.to - 1, Math.max(this.line.from, this.model.point))));
    this.line.draw(this.colours);
  }

  showTimeline() {
    const { model } = this;
    this.line.draw(this.colours);
    fillLegend(this.timeLegend, model.categories(), model.page.categories);
    const each = model.page.events_per_point;
    const kept = each * model.ratio;
    this.timeNote.textContent = "Every column shows its highest moment, exact to the byte; the thin line is its lowest. Drag to choose a time; the wheel and +, \u2212 zoom." +
      (kept > 1 ? ` This page keeps the highest moment of every ${formatCount(kept)} events; peakline html --from S --to S makes one that keeps more of a shorter time.` : " Every event is in this page.");
  }

  makeModules() {
    this.moduleTable = make("table");
    byId("modules").append(this.moduleTable, make("p", "note",
      "Repeated layers are one row (h.*.mlp). Each row is the module\u2019s own memory; the flame, module first, shows what is below a module."));
  }

  showModules() {
    const { model } = this;
    fillTable(this.moduleTable, model.rows("layers"), { total: model.bytes, categories: model.page.categories, name: "module" });
  }

  makePhases() {
    const { model } = this;
    const table = make("table", "rows");
    const head = make("thead");
    const heads = make("tr");
    for (const [text, kind] of [["Peak", "right"], ["of the peak", "share"], ["Before", "right wide"], ["After", "right wide"], ["Allocated", "right wide"], ["From", "right wide"], ["Phase", ""]]) {
      const cell = make("th", kind, text);
      cell.scope = "col";
      heads.append(cell);
    }
    head.append(heads);
    const body = make("tbody");
    const most = Math.max(1, ...model.intervals.map((/** @type {any} */ one) => one.peak_bytes));
    for (const one of model.intervals.slice(0, MOST_PHASES)) body.append(this.makePhase(one, most));
    table.append(head, body);
    byId("phases").append(table, make("p", "note", model.intervals.length
      ? "A phase shows its own time on every tab when you choose it." +
        (model.intervals.length > MOST_PHASES ? ` The first ${formatCount(MOST_PHASES)} of ${formatCount(model.intervals.length)} phases; peakline phases --top 0 lists all.` : "")
      : "This trace has no phases: nothing was allocated in a forward or backward pass, and the program named none."));
  }

  /**
   * @param {any} one an interval of the engine
   * @param {number} most
   */
  makePhase(one, most) {
    const { model } = this;
    const row = make("tr", one.peak_bytes === most ? "on" : "");
    const share = make("td", "share");
    const bar = make("div", "mix");
    bar.append(make("span", "plain"));
    bar.firstChild.style.flexGrow = "1";
    bar.style.width = (one.peak_bytes / most) * 100 + "%";
    share.append(bar);
    const place = make("td", "place");
    const button = make("button", "link", (one.step === null ? "" : `step ${one.step} `) + one.name);
    button.type = "button";
    button.onclick = () => {
      const from = Math.floor(model.pointAt(one.begin_seconds) / model.ratio);
      const to = Math.floor(model.pointAt(one.end_seconds) / model.ratio) + 1;
      this.setWindow({ from, to });
    };
    place.append(button);
    row.append(make("td", "right", formatBytes(one.peak_bytes)), share, make("td", "right wide", formatBytes(one.begin_bytes)),
      make("td", "right wide", formatBytes(one.end_bytes)), make("td", "right wide", formatBytes(one.allocated_bytes)),
      make("td", "right wide", formatSeconds(one.begin_seconds)), place);
    return row;
  }

  /** @param {string} tab */
  draw(tab) {
    hideTip();
    byId("scope").hidden = tab === "summary";
    this.say();
    if (tab === "summary") this.summaryLine.draw(this.colours);
    else this.bar.draw(this.colours);
    if (tab === "lines") this.showLines();
    if (tab === "flame") this.flame.show(this.colours);
    if (tab === "timeline") this.showTimeline();
    if (tab === "modules") this.showModules();
  }

  /** One sentence: which moment, how much. */
  say() {
    const { model } = this;
    const say = byId("say");
    const { window } = model;
    const amount = make("b", "", formatBytes(model.bytes));
    amount.dataset.bytes = String(model.bytes);
    amount.dataset.seconds = String(model.peakAt[model.point]);
    amount.title = formatCount(model.bytes) + " bytes";
    const place = model.placeAt(model.peakAt[model.point]);
    const at = ` at ${formatSeconds(model.peakAt[model.point])}${place ? ", " + place : ""}.`;
    const bar = byId("bar");
    if (!window) {
      say.replaceChildren("Showing ", make("b", "", model.page.is_part ? "the highest moment of this part of the run" : "the peak of the whole run"), ": ", amount, at + " Drag below to look elsewhere.");
    } else {
      const back = make("button", "link", "Back to the peak");
      back.type = "button";
      back.onclick = () => this.setWindow(null);
      const span = `${formatSeconds(model.secondsOf(window.from))} to ${formatSeconds(model.secondsOf(window.to))}`;
      say.replaceChildren("Showing the highest moment of ", make("b", "", span), ": ", amount, at, back);
    }
    bar.setAttribute("aria-valuenow", String(Math.round((model.point / model.pointCount) * 100)));
    bar.setAttribute("aria-valuetext", say.textContent || "");
  }

  recolour() {
    this.colours = readColours(this.model.page.categories);
  }
}
