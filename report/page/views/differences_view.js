// @ts-check
// The tab of differences: one file over another by step, and the peak of each, or of a step, row by
// row. The rows sum to the difference of the peaks.
import { layersOf } from "../data/model.js";
import { choices } from "../data/choices.js";
import { byId, make, makeChoice, shortName } from "../elements/dom.js";
import { bytesOfFile, readFiles } from "./files.js";
import { formatBytes, formatCount } from "../elements/format.js";
import { RunsByStep } from "./runs_by_step.js";
import { fillRows, makeBytes, makeDelta, makePlace, signed } from "../elements/table.js";

/** @typedef {{key: string, before: number, after: number, delta: number, from: string, why: string}} DeltaRow */

/**
 * Keys that join rows of another one.
 * @type {Record<string, {of: string, nameOf: (text: string) => string}>}
 */
const JOINED = { function: { of: "line", nameOf: functionOf }, layers: { of: "module", nameOf: layersOf } };

export class DifferencesView {
  /** @type {RunsByStep} */ runs;
  /** @type {string} */ pair;
  /** @type {HTMLSelectElement} */ before;
  /** @type {HTMLSelectElement} */ after;

  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.drawn = "";
    /** @type {any} */
    this.colours = null;
    readFiles()?.then((data) => this.build(data));
  }

  /** @param {import("./files.js").Files} data */
  build(data) {
    this.data = data;
    // Those with rows: of a file with several devices, the one that is compared.
    this.files = data.files.filter((file) => file.rows.line);
    const given = this.files.slice().sort((a, b) => a.given - b.given);
    this.before = this.makeSelect("Before", given[0]);
    this.after = this.makeSelect("After", given[given.length - 1]);
    const tools = make("div", "tools");
    for (const select of [this.before, this.after]) {
      const label = make("label", "", select.dataset.name + " ");
      label.append(select);
      tools.append(label);
    }
    const keys = Object.keys(this.files[0].rows).flatMap((key) => [key, ...Object.keys(JOINED).filter((one) => JOINED[one].of === key)]);
    tools.append(makeChoice("Rows are", keys.map((key) => [key, this.model.titleOf(key)]), () => this.by, (key) => choices.set("differ", key, "line")));
    this.runs = new RunsByStep("differences", data);
    this.title = make("h2", "big");
    this.sub = make("p", "sub");
    this.table = make("table", "rows");
    this.note = make("p", "note");
    byId("differences").replaceChildren(tools, this.title, this.sub, this.runs.box, this.table, this.note);
    this.show(this.colours);
  }

  get by() {
    return choices.get("differ", "line");
  }

  /**
   * @param {string} name
   * @param {import("./files.js").FileOfPage} chosen
   */
  makeSelect(name, chosen) {
    const select = make("select");
    select.dataset.name = name;
    for (const file of this.files || []) {
      const option = make("option", "", `\u2068${file.label.slice(-100)}\u2069: ${formatBytes(file.peak_bytes)}`);
      option.value = String(file.given);
      select.append(option);
    }
    const word = select.dataset.word = name.toLowerCase();
    select.dataset.given = String(chosen.given);
    select.onchange = () => choices.set(word, select.value, select.dataset.given);
    return select;
  }

  /** @param {HTMLSelectElement} select */
  fileOf(select) {
    return /** @type {import("./files.js").FileOfPage} */ ((this.files || []).find((file) => String(file.given) === select.value));
  }

  /**
   * The two files at what is compared: the peak of each, or the highest moment of a step. `range` -1:
   * the file has no such step.
   */
  sides() {
    const runs = /** @type {RunsByStep} */ (this.runs);
    const peaks = runs.slot < 0 ? [] : runs.peaksAt(runs.slot);
    return [this.before, this.after].map((select, i) => {
      const file = this.fileOf(select);
      if (!peaks.length) return { file, bytes: file.peak_bytes, levels: null, range: -1 };
      const { levels, range, peak } = peaks[i];
      return { file, bytes: peak ? peak.bytes : 0, levels, range };
    });
  }

  /**
   * The bytes of a side by the texts of a key.
   * @param {ReturnType<DifferencesView["sides"]>[0]} side
   * @param {string} by
   * @param {(text: string) => string} nameOf
   */
  bytesOf({ file, levels, range }, by, nameOf) {
    if (!levels) return bytesOfFile(/** @type {import("./files.js").Files} */ (this.data), file, by, nameOf);
    return range < 0 ? new Map() : levels.rowsAt(range, by, nameOf);
  }

  /**
   * Rows with their differences, the largest first.
   * @param {ReturnType<DifferencesView["sides"]>} sides
   */
  rows(sides) {
    const { of, nameOf } = JOINED[this.by] || { of: this.by, nameOf: (/** @type {string} */ text) => text };
    const moved = this.by === "line" ? this.movedLines() : new Map();
    const [before, after] = sides.map((side, i) => this.bytesOf(side, of, (text) => nameOf(i === 0 ? moved.get(text) ?? text : text)));
    const cameFrom = new Map([...moved].map(([from, to]) => [to, from]));
    const reasons = this.by === "line" ? this.reasons() : new Map();
    /** @type {DeltaRow[]} */
    const rows = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
      const was = before.get(name) || 0;
      const is = after.get(name) || 0;
      return { key: name, before: was, after: is, delta: is - was, from: was ? cameFrom.get(name) || "" : "", why: reasons.get(name) || "" };
    });
    return rows.sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta) || b.after - a.after || (a.key < b.key ? -1 : 1));
  }

  /** The new location of each line that moved between the two given files. */
  movedLines() {
    const { moved, texts } = /** @type {import("./files.js").Files} */ (this.data);
    const [before, after] = [this.fileOf(this.before), this.fileOf(this.after)];
    /** @type {Map<string, string>} */
    const found = new Map();
    if (before.given === after.given) return found;
    for (const [first, last] of moved) {
      if (before.given < after.given) found.set(texts[first], texts[last]);
      else found.set(texts[last], texts[first]);
    }
    return found;
  }

  /** Why lines differ between the two given files. @returns {Map<string, string>} */
  reasons() {
    const { reasons, texts } = /** @type {import("./files.js").Files} */ (this.data);
    if (this.fileOf(this.before).given === this.fileOf(this.after).given) return new Map();
    return new Map(reasons.map(([line, why]) => [texts[line], texts[why]]));
  }

  fill() {
    const sides = this.sides();
    const [before, after] = sides.map((side) => side.bytes);
    const all = this.rows(sides);
    const rows = all.filter((row) => row.delta !== 0);
    this.title.textContent = after === before ? "The same peak" : signed(after - before, formatBytes);
    const [first, second] = sides.map(({ file }) => make("bdi", "", shortName(file.label)));
    this.sub.replaceChildren("From ", first, `, ${formatBytes(before)}, to `, second, `, ${formatBytes(after)}: ${signed(after - before, formatCount)} bytes`);
    this.sub.dataset.bytes = String(after - before);
    const most = rows.reduce((top, row) => Math.max(top, Math.abs(row.delta)), 1);
    /** @type {any[][]} */
    const heads = [["Change", "right", (/** @type {DeltaRow} */ row) => row.delta], ["", "share"], ["Before", "right wide", (/** @type {DeltaRow} */ row) => row.before],
      ["After", "right", (/** @type {DeltaRow} */ row) => row.after], [this.model.titleOf(this.by), "", (/** @type {DeltaRow} */ row) => row.key]];
    fillRows(this.table, heads, rows, (row) => makeDeltaCells(row, most));
    this.table.hidden = rows.length === 0;
    const sum = rows.reduce((total, row) => total + row.delta, 0);
    this.note.dataset.bytes = String(sum);
    const same = all.length - rows.length;
    this.note.textContent = `${this.sayWhere(sides)} ${formatCount(rows.length)} ${rows.length === 1 ? "row differs" : "rows differ"}` +
      `${same ? `, ${formatCount(same)} ${same === 1 ? "is" : "are"} the same` : ""}; the changes sum to ${signed(sum, formatCount)} bytes.`;
  }

  /** @param {ReturnType<DifferencesView["sides"]>} sides */
  sayWhere(sides) {
    const { slot, shown } = /** @type {RunsByStep} */ (this.runs);
    if (slot < 0 || !shown) return "At the peak of each.";
    const missing = sides.find(({ range }) => range < 0);
    const name = shown.axis.nameOf(slot);
    return missing ? `In ${name}, which ${shortName(missing.file.label)} does not have.` : `At the highest moment of ${name.replace(/^(before|after)/, "the time $1")}, in each.`;
  }

  /**
   * Only the two files, the step and the key change the rows.
   * @param {any} colours
   */
  show(colours) {
    this.colours = colours;
    if (!this.before) return;
    for (const select of [this.before, this.after]) {
      select.value = choices.get(select.dataset.word || "", select.dataset.given);
      if (!this.fileOf(select)) select.value = select.dataset.given || "";
    }
    const files = [this.before, this.after].map((select) => this.fileOf(select));
    const pair = files.map((file) => file.given).join();
    // A page of many files has rows at every step for two of them.
    if (pair !== this.pair) this.runs.choose(files.every((file) => file.by_step?.keys) ? files : []);
    this.pair = pair;
    const drawn = [pair, this.by, this.runs.slot].join();
    if (drawn !== this.drawn) this.fill();
    this.drawn = drawn;
    if (colours) this.runs.show(colours);
  }
}

/** @param {string} line "model.py:40 (forward)" */
function functionOf(line) {
  return line.replace(/:\d+ \(/, " (");
}

/**
 * @param {DeltaRow} row
 * @param {number} most
 */
function makeDeltaCells(row, most) {
  const location = makePlace(row.key);
  if (row.from) location.append(" ", make("span", "", "was "), make("bdi", "", shortName(row.from)));
  if (row.why) location.append(make("div", "why", row.why));
  return [...makeDelta(row.delta, most), makeBytes(row.before, "right wide"), makeBytes(row.after), location];
}
