// @ts-check
// The tab of the map: torch's segments with their blocks and holes at the moment shown, why every
// reserved byte is there, the lines that pin segments, the rest of the device.
import { choices } from "../data/choices.js";
import { byId, classOf, hideTip, make, makeButton, makeChoice, makeZoomButtons, showTip } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { makeAmount, makeLegendItem } from "../elements/table.js";
import { AllocatorHistory } from "../data/allocator_history.js";
import { lookAt } from "../data/block_looks.js";
import { CAUSES, findCauses, findPins } from "../data/reserved.js";
import { SegmentMap } from "../charts/segment_map.js";
import { WIDTHS } from "../charts/segment_rows.js";
import { CausesPanel, PinsPanel } from "./map_figures.js";
import { LedgerPanel, makeWhatIf } from "./map_device.js";
import { MapDetails, tipOfPart } from "./map_details.js";
import { MapMoments } from "./map_moments.js";
import { SegmentTable } from "./segment_table.js";

export class MapView {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {import("./moment_bar.js").SetWindow} setWindow
   * @param {(text: string) => void} showLine
   */
  constructor(model, setWindow, showLine) {
    this.model = model;
    this.setWindow = setWindow;
    this.showLine = showLine;
    this.lookBy = "";
    /** @type {import("../data/allocator_history.js").AllocatorState | null} */
    this.state = null;
    /** @type {import("../data/block_looks.js").BlockLook | null} */
    this.look = null;
    /** @type {import("../data/block_looks.js").BlockLook | null} */
    this.before = null;
    /** @type {any} */
    this.colours = null;
    if (!model.page.map.moments.length) {
      byId("map").append(make("p", "lead", sayWhyNoMap(model.page)));
    }
  }

  /** When the tab is first shown: not every reader of the page looks at it. */
  start() {
    const { model } = this;
    this.moments = new MapMoments(model, new AllocatorHistory(model.page, model.columns));
    this.details = new MapDetails(model, this.showLine);
    this.causes = new CausesPanel();
    this.pins = new PinsPanel(model, (line) => this.highlight(line));
    this.ledger = new LedgerPanel(model);
    this.table = new SegmentTable(model);
    this.build();
    this.listen();
  }

  build() {
    this.title = make("h2", "big");
    this.sub = make("p", "sub");
    this.lead = make("p", "lead");
    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Segments by address. Arrow keys walk from block to block and from segment to segment. Below is the same as a table.");
    const room = make("div");
    this.scroller = make("div", "segments");
    this.scroller.append(this.canvas, room);
    this.map = new SegmentMap(this.canvas, this.scroller, room, this.model);
    this.legend = make("ul");
    this.note = make("p", "note");
    const drawing = make("div");
    drawing.append(this.scroller, this.legend, this.note);
    const both = make("div", "beside");
    both.append(drawing, this.details?.box);
    const reserved = make("h2", "", "Why it is reserved");
    this.sum = make("small");
    reserved.append(this.sum);
    byId("map").append(this.title, this.sub, this.lead, this.makeTools(), both, this.table?.box, reserved, this.causes?.box,
      this.pins?.box, this.ledger?.box, makeWhatIf(this.model.page.whatif));
  }

  get by() {
    return choices.get("colour", "category");
  }

  makeTools() {
    const tools = make("div", "tools");
    const label = make("label", "", "Moment ");
    this.select = make("select");
    this.select.onchange = () => this.chooseNamed(this.moments?.names[Number(this.select.value)]);
    label.append(this.select);
    tools.append(label);
    if (this.moments?.history.hasEveryEvent) {
      for (const [text, step, name] of /** @type {[string, number, string][]} */ ([["\u2039", -1, "One event back"], ["\u203a", 1, "One event on"]])) {
        const button = makeButton(text, () => this.stepEvent(step));
        button.setAttribute("aria-label", name);
        tools.append(button);
      }
    }
    tools.append(makeChoice("Blocks are coloured by", [...this.model.rowKeys, "age"], () => this.by, (by) => choices.set("colour", by, "category")), makeChoice("Segments are drawn", /** @type {[string, string][]} */ (WIDTHS), () => this.map?.widths || "", (widths) => {
      this.map?.layOut(widths);
      this.draw();
    }));
    tools.append(...makeZoomButtons((factor) => this.zoom(factor)));
    this.whole = makeButton("All lines", () => this.highlight(-1));
    this.whole.hidden = true;
    tools.append(this.whole);
    return tools;
  }

  listen() {
    const { canvas, map, scroller } = this;
    if (!map) return;
    scroller.onscroll = () => this.draw();
    canvas.onpointermove = (/** @type {PointerEvent} */ event) => {
      const part = map.partAt(event);
      canvas.style.cursor = part ? "pointer" : "";
      if (!part || !this.state || !this.moments) return hideTip();
      showTip(event, tipOfPart(this.model, this.state, part, this.moments.secondsOf(this.state.change)));
    };
    canvas.onpointerleave = hideTip;
    canvas.onclick = (/** @type {MouseEvent} */ event) => {
      map.choose(map.partAt(event));
      this.showChosen();
    };
    canvas.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      if (!event.key.startsWith("Arrow")) return;
      map.step(event.key);
      event.preventDefault();
      this.showChosen();
    };
    canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
      if (event.ctrlKey) map.zoomBy(Math.exp(-event.deltaY * 0.004), event.offsetX);
      else if (map.zoom > 1 && (event.shiftKey || event.deltaX)) map.moveTo(map.offset + (event.deltaX || event.deltaY) / canvas.clientWidth / map.zoom);
      else return;
      event.preventDefault();
      this.draw();
    }, { passive: false });
  }

  /** @param {number} factor */
  zoom(factor) {
    this.map?.zoomBy(factor);
    this.draw();
  }

  /** @param {number} line with highlighted blocks; -1: all */
  highlight(line) {
    if (!this.map) return;
    this.map.line = line;
    this.whole.hidden = line < 0;
    this.draw();
    if (line >= 0) this.scroller.scrollIntoView({ block: "nearest" });
  }

  /**
   * @param {number} change how many of them have happened
   * @param {import("./map_moments.js").MapMoment | null} moment
   */
  chooseChange(change, moment) {
    if (!this.moments) return;
    this.setWindow(this.moments.windowOf(change));
    this.moments.chosen = { change, moment, window: this.model.window };
    this.state = null;
    this.show(this.colours);
  }

  /** @param {import("./map_moments.js").MapMoment | undefined} moment */
  chooseNamed(moment) {
    if (moment) this.chooseChange(moment.change, moment);
  }

  /** @param {number} number of a refused request */
  chooseRefused(number) {
    this.chooseNamed(this.moments?.names.find((one) => one.kind === "refused" && one.number === number));
  }

  /**
   * One event of the allocator further, or back.
   * @param {number} step
   */
  stepEvent(step) {
    const { moments } = this;
    if (!moments || !moments.history.hasEveryEvent) return;
    this.chooseChange(Math.max(moments.history.first, Math.min(moments.history.changeCount, moments.change + step)), null);
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    if (!this.moments && this.model.page.map.moments.length) this.start();
    const { moments, map } = this;
    if (!moments || !map) return;
    const { change } = moments;
    if (!this.state || this.state.change !== change) {
      this.state = moments.history.at(change);
      this.look = null;
      this.fill();
    }
    if (!this.look || this.lookBy !== this.by) {
      this.look = lookAt(this.model, this.by, this.state, moments.secondsOf(change), this.lookBy === this.by ? this.before : null);
      this.before = this.look;
      this.lookBy = this.by;
      this.fillLegend();
    }
    map.set(this.state, this.look);
    this.fillMoments();
    this.showChosen();
  }

  fill() {
    const { model, moments, state } = this;
    if (!state || !moments) return;
    const found = findCauses(state, model.columns);
    const seconds = moments.secondsOf(state.change);
    const named = moments.named(state.change);
    this.title.textContent = `${formatBytes(found.reserved)} reserved`;
    this.title.dataset.bytes = String(found.reserved);
    const { length } = state.segments;
    this.sub.textContent = [named ? moments.nameOf(named) : "", `${formatCount(length)} ${length === 1 ? "segment" : "segments"}`,
      model.phaseAt(seconds), formatSeconds(seconds), named || !moments.history.hasEveryEvent ? "" : moments.sayLast(state.change)].filter((text) => text).join(" \u00b7 ");
    const free = CAUSES.slice(2).reduce((sum, cause) => sum + found.bytes[cause], 0);
    this.lead.replaceChildren(makeAmount(found.bytes.live + found.bytes.waiting), ` in ${formatCount(state.blocks.length)} blocks, `, makeAmount(free),
      ` free inside segments in ${formatCount(found.holes)} holes; the largest is `, makeAmount(found.largestHole), ".");
    this.sum.textContent = `${formatCount(found.reserved)} bytes`;
    this.causes?.fill(found);
    this.pins?.fill(findPins(state, model.columns));
    const near = moments.ledgerNear(state.change);
    this.ledger?.fill(near && near.ledger, near ? moments.nameOf(near) : "", near && near.change !== state.change ? seconds : null);
    this.table?.fill(state);
    this.note.textContent = sayDrawn(moments.history, state);
  }

  fillMoments() {
    const { moments, state } = this;
    if (!moments || !state) return;
    const named = moments.named(state.change);
    const rest = make("option", "", named ? "a name" : `by the bar, ${formatSeconds(moments.secondsOf(state.change))}`);
    rest.value = "-1";
    const options = moments.names.map((one, i) => {
      const option = make("option", "", moments.optionOf(one));
      option.value = String(i);
      return option;
    });
    this.select.replaceChildren(...(named ? [] : [rest]), ...options);
    this.select.value = named ? String(moments.names.indexOf(named)) : "-1";
  }

  fillLegend() {
    const { look } = this;
    if (!look) return;
    const total = look.bytes.reduce((sum, one) => sum + one, 0) || 1;
    const order = [...look.bytes.keys()].filter((i) => look.bytes[i] > 0);
    if (this.by !== "age") order.sort((a, b) => look.bytes[b] - look.bytes[a]);
    this.legend.className = "legend";
    this.legend.replaceChildren(...order.map((i) => makeLegendItem(classOf(look.kinds[i].replaceAll("-", " ")), look.names[i], look.bytes[i], look.bytes[i] / total)));
  }

  showChosen() {
    const { map, state, moments } = this;
    if (!map || !state || !moments) return;
    this.details?.fill(state, map.chosen, moments.secondsOf(state.change));
    this.draw();
  }

  draw() {
    if (!this.colours || byId("map").hidden || !this.map) return;
    this.map.draw(this.colours);
    this.causes?.draw(this.colours);
  }
}

/** @param {any} page */
function sayWhyNoMap(page) {
  if (page.device === "all") return "A map is of one device: make the page without --device all.";
  if (page.map.has_segments) return "There are too many blocks for a page: peakline map FILE, and peakline fragmentation FILE, show them at any moment.";
  return "This trace does not have the segments of torch\u2019s allocator: peakline run records them where torch\u2019s own allocator is used and every event is kept.";
}

/**
 * @param {AllocatorHistory} history
 * @param {import("../data/allocator_history.js").AllocatorState} state
 */
function sayDrawn(history, state) {
  const parts = ["Free bytes are hatched by their cause, which the list below explains. Ctrl and the wheel, +, \u2212 zoom; Shift and the wheel move."];
  if (!history.hasEveryEvent) parts.push(`This page has the map of ${formatCount(history.moments.length)} moments; the one nearest to the time of the bar is shown. peakline html --from S --to S makes a page of a shorter time that has every moment.`);
  if (state.outsideCount) parts.push(`${formatBytes(state.outsideBytes)} in ${formatCount(state.outsideCount)} blocks lie in segments that the trace does not know.`);
  return parts.join(" ");
}
