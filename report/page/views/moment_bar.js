// @ts-check
// The moment that the tabs show: the bar above them, the sentence about it, and how a timeline
// chooses another one.
import { choices } from "../data/choices.js";
import { byId, hideTip, make, makeButton, makeChoice, showTip } from "../elements/dom.js";
import { formatBytes, formatSeconds } from "../elements/format.js";
import { makeAmount } from "../elements/table.js";
import { Timeline } from "../charts/timeline.js";

/** @typedef {(window: {from: number, to: number} | null) => void} SetWindow in moments */

/**
 * Tip and choice of a window by dragging.
 * @param {Timeline} line
 * @param {SetWindow} setWindow
 */
export function listenTo(line, setWindow) {
  const { model } = line;
  let begin = -1;
  const canvas = line.canvas;
  canvas.onpointerdown = (event) => {
    if (event.button !== 0) return;
    begin = line.momentOf(event.clientX);
    canvas.setPointerCapture(event.pointerId);
    hideTip();
  };
  canvas.onpointermove = (event) => {
    if (begin < 0) return showMoment(line, event);
    const at = line.momentOf(event.clientX);
    if (at !== begin || model.window) setWindow({ from: Math.min(begin, at), to: Math.max(begin, at) + 1 });
  };
  canvas.onpointerup = (event) => {
    const at = line.momentOf(event.clientX);
    if (begin >= 0 && at === begin) setWindow({ from: at, to: at + 1 });
    begin = -1;
  };
  canvas.onpointerleave = hideTip;
}

/**
 * The moment under the pointer, with its three largest lines.
 * @param {Timeline} line
 * @param {PointerEvent} event
 */
function showMoment(line, event) {
  const { model } = line;
  const x = event.clientX - line.canvas.getBoundingClientRect().left;
  const column = line.columnAt(x);
  const { best } = line.columns[column];
  const moment = Math.floor(best / model.ratio);
  /** @type {{text: string, kind?: string}[]} */
  const rows = [{ text: `${formatBytes(model.high[best])} at ${formatSeconds(model.peakAt[best])}` }];
  const place = model.phaseAt(model.peakAt[best]);
  if (place) rows.push({ text: place });
  const { names, kinds } = line.layers;
  const parts = line.partsOf(column);
  for (const layer of [...parts.keys()].reverse()) {
    if (parts[layer] > model.high[best] * 0.002) {
      rows.push({ text: `${names[layer].slice(0, 300)}  ${formatBytes(parts[layer])}`, kind: kinds[layer] });
    }
  }
  if (line.series) return showTip(event, rows);
  const top = model.rows("line", model.live.at(moment)).slice(0, 3);
  for (const row of top) rows.push({ text: `${formatBytes(row.bytes)}  ${row.key.slice(0, 300)}` });
  showTip(event, rows);
}

/** The axis of all timelines. */
export function makeAxisChoice() {
  return makeChoice("Axis", [["events", "by events"], ["time", "by time"]], () => choices.get("axis", "events"), (axis) => choices.set("axis", axis, "events"));
}

/**
 * Which moment is shown, and how much it holds.
 * @param {import("../data/model.js").Model} model
 * @param {SetWindow} setWindow
 */
export function sayMoment(model, setWindow) {
  const { window } = model;
  const amount = makeAmount(model.bytes);
  amount.dataset.seconds = String(model.peakAt[model.point]);
  const phase = model.phaseAt(model.peakAt[model.point]);
  const at = ` at ${formatSeconds(model.peakAt[model.point])}${phase ? ", " + phase : ""}.`;
  if (!window) {
    return ["Showing ", make("b", "", model.page.is_part ? "the highest moment of this part of the run" : "the peak of the whole run"), ": ", amount, at + " Drag below to look elsewhere."];
  }
  const back = makeButton("Back to the peak", () => setWindow(null), "link");
  const [from, to] = [window.from, window.to].map((moment) => formatSeconds(model.secondsOf(moment)));
  return ["Showing the highest moment of ", make("b", "", from === to ? from : `${from} to ${to}`), ": ", amount, at, back];
}

export class MomentBar {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {SetWindow} setWindow
   */
  constructor(model, setWindow) {
    this.model = model;
    this.setWindow = setWindow;
    this.line = new Timeline(byId("bar"), model, { height: 44, axis: false });
    listenTo(this.line, setWindow);
  }

  /** @param {any} colours */
  show(colours) {
    this.say();
    this.line.draw(colours);
  }

  /** One sentence: which moment, how much. */
  say() {
    const { model } = this;
    const say = byId("say");
    const bar = byId("bar");
    say.replaceChildren(...sayMoment(model, this.setWindow));
    bar.setAttribute("aria-valuenow", String(Math.round((model.point / model.pointCount) * 100)));
    bar.setAttribute("aria-valuetext", say.textContent || "");
  }
}
