// @ts-check
// Several files over each other by step: the chart, its tip, and the choice of a step. The tabs of
// ranks and of differences have one each.
import { StepLines } from "../charts/step_lines.js";
import { choices } from "../data/choices.js";
import { hideTip, make, makeButton, shortName, showTip } from "../elements/dom.js";
import { formatBytes, formatSeconds } from "../elements/format.js";
import { makeSaveButtons } from "../elements/save.js";
import { makeLegendItem } from "../elements/table.js";
import { stepsOf } from "./files.js";

const MOST_NAMED = 12;

/** The word of the address that names the chosen step. */
const AT_STEP = "at";

export class RunsByStep {
  /**
   * @param {string} name of a saved picture
   * @param {import("./files.js").Files} files
   */
  constructor(name, files) {
    this.files = files;
    /** @type {ReturnType<typeof stepsOf>} */
    this.shown = null;
    /** @type {any} */
    this.colours = null;
    this.canvas = make("canvas");
    this.canvas.setAttribute("role", "img");
    /** @type {StepLines | null} */
    this.lines = null;
    this.legend = make("ul", "legend");
    this.tools = make("div", "tools below");
    this.back = makeButton("Back to the peak of each", () => choices.set(AT_STEP, ""), "link");
    this.tools.append(...makeSaveButtons({ name, canvas: this.canvas, draw: () => this.draw(), colours: () => this.colours, legend: this.legend }), this.back);
    this.canvas.onclick = (/** @type {MouseEvent} */ event) => {
      if (this.lines && this.shown) choices.set(AT_STEP, this.shown.axis.wordOf(this.lines.slotAt(event.clientX)));
    };
    this.canvas.onpointermove = (/** @type {PointerEvent} */ event) => this.showTip(event);
    this.canvas.onpointerleave = hideTip;
    this.box = make("div", "by-step");
    this.box.append(this.canvas, this.legend, this.tools);
  }

  /**
   * Shows these files; returns whether it can.
   * @param {import("./files.js").FileOfPage[]} chosen
   */
  choose(chosen) {
    this.shown = stepsOf(this.files, chosen);
    this.box.hidden = !this.shown;
    if (!this.shown) return false;
    this.lines = new StepLines(this.canvas, this.shown.axis);
    this.canvas.setAttribute("aria-label", `Memory of ${chosen.length} files by ${this.shown.axis.one}. A click chooses one; the table below has its figures.`);
    return true;
  }

  /** The chosen slot; -1: the peak of each file. */
  get slot() {
    return this.shown ? this.shown.axis.slotOf(choices.get(AT_STEP)) : -1;
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    this.back.hidden = this.slot < 0;
    this.fillLegend();
    this.draw();
  }

  /** Every line with its colour; the file that the page shows stands over the others. */
  get drawn() {
    const { levels, files } = /** @type {any} */ (this.shown);
    if (levels.length === 2) return [{ levels: levels[0], colour: "muted", wide: true }, { levels: levels[1], colour: "accent", wide: true }];
    const order = [...files.keys()].sort((a, b) => Number(files[a].is_shown) - Number(files[b].is_shown));
    return order.map((i) => ({ levels: levels[i], colour: files[i].is_shown ? "accent" : "muted", wide: files[i].is_shown }));
  }

  draw() {
    if (this.shown && this.lines && this.canvas.clientWidth) this.lines.draw(this.colours, this.drawn, this.slot);
  }

  /** The files with their colours and their peaks, of the chosen step or of the run. */
  fillLegend() {
    if (!this.shown) return;
    const { files, levels } = this.shown;
    const peaks = this.slot < 0 ? [] : this.peaksAt(this.slot);
    const items = files.map((file, i) => ({ file, bytes: peaks.length ? peaks[i].peak?.bytes ?? 0 : file.peak_bytes,
      colour: /** @type {any} */ (this.drawn.find((line) => line.levels === levels[i])).colour }));
    if (items.length > 2) items.sort((a, b) => b.bytes - a.bytes);
    this.legend.replaceChildren(...items.slice(0, MOST_NAMED).map(({ file, bytes, colour }) => makeLegendItem(`run ${colour}`, file.label, bytes)));
    if (items.length > MOST_NAMED) this.legend.append(make("li", "", `and ${items.length - MOST_NAMED} more`));
  }

  /**
   * Every file at a slot, the highest first.
   * @param {number} slot
   */
  peaksAt(slot) {
    if (!this.shown) return [];
    const { levels, files, axis } = this.shown;
    return levels.map((one, i) => ({ file: files[i], levels: one, range: one.rangeOf(slot, axis) }))
      .map((one) => ({ ...one, peak: one.range < 0 ? null : one.levels.peakOf(one.range) }));
  }

  /** @param {PointerEvent} event */
  showTip(event) {
    if (!this.shown || !this.lines) return;
    const slot = this.lines.slotAt(event.clientX);
    const peaks = this.peaksAt(slot);
    if (peaks.length > 2) peaks.sort((a, b) => (b.peak?.bytes ?? -1) - (a.peak?.bytes ?? -1));
    const rows = peaks.slice(0, MOST_NAMED).map(({ file, peak }) => ({ text: `${peak ? `${formatBytes(peak.bytes)} at ${formatSeconds(peak.seconds)}` : "none"}  ${shortName(file.label)}` }));
    const more = peaks.length > MOST_NAMED ? [{ text: `and ${peaks.length - MOST_NAMED} more` }] : [];
    showTip(event, [{ text: `Highest in ${this.shown.axis.nameOf(slot).replace(/^(before|after)/, "the time $1")}` }, ...rows, ...more]);
  }
}
