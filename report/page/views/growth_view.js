// @ts-check
// The tab of growth: the level at the end of every step, what two of them hold more or less of, and
// the rows that `leaks` finds.
import { GrowthLine } from "../charts/growth_line.js";
import { choices } from "../data/choices.js";
import { byId, hideTip, make, makeChoice, makePlaceText, makeSearch, showTip } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { makeSaveButtons } from "../elements/save.js";
import { makeSource } from "../elements/source.js";
import { fillRows, makeAmount, makeBytes, makeDelta, makePlace, signed } from "../elements/table.js";

/** @typedef {import("../data/model.js").Row} Row */

export class GrowthView {
  /** @type {GrowthLine} */ line;
  /** @type {HTMLInputElement[]} */ inputs;

  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.growth = model.growth;
    /** @type {any} */
    this.colours = null;
    this.dragged = -1;
    this.build();
  }

  build() {
    const { model } = this;
    const canvas = make("canvas");
    canvas.style.cursor = "ew-resize";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Memory held at the end of every ${this.growth.facts.one}. The fields below choose the two that are compared.`);
    this.line = new GrowthLine(canvas, this.growth);
    this.listen(canvas);
    this.inputs = ["A", "B"].map((name, i) => this.makeEnd(name, i));
    const tools = make("div", "tools");
    for (const [i, name] of ["A", "B"].entries()) {
      const label = make("label", "", `${name}: ${this.growth.hasSteps ? `end of ${this.growth.facts.one}` : "second"} `);
      label.append(this.inputs[i]);
      tools.append(label);
    }
    this.search = makeSearch("Find rows", "find rows", () => choices.get("grew"), (text) => choices.set("grew", text));
    this.keys = makeChoice("Rows are", ["line", "module", "layers", "category", ...model.keys.filter((key) => !["module", "category"].includes(key))],
      () => this.by, (key) => choices.set("grows", key, "line"));
    tools.append(this.search, this.keys, ...makeSaveButtons({ name: "growth", canvas, draw: () => this.line.draw(this.colours, this.ends()), colours: () => this.colours }));
    this.say = make("p", "lead wide-text");
    this.table = make("table", "rows");
    this.note = make("p", "note");
    byId("growth").append(canvas, tools, this.say, this.table, this.note, ...this.makeFindings());
  }

  get by() {
    return choices.get("grows", "line");
  }

  /**
   * A field for one of the two ends.
   * @param {string} name
   * @param {number} i
   */
  makeEnd(name, i) {
    const input = make("input", "number");
    input.type = "number";
    const { growth } = this;
    if (growth.hasSteps) {
      input.min = growth.steps[1];
      input.max = growth.steps[growth.count - 1];
    } else input.step = "any";
    input.onchange = () => this.choose(i, growth.sampleAt(Number(input.value)));
    return input;
  }

  /** @param {HTMLCanvasElement} canvas */
  listen(canvas) {
    canvas.onpointerdown = (event) => {
      const sample = this.line.sampleOf(event.clientX);
      const [a, b] = this.ends();
      this.dragged = Math.abs(sample - a) < Math.abs(sample - b) ? 0 : 1;
      canvas.setPointerCapture(event.pointerId);
      this.choose(this.dragged, sample);
    };
    canvas.onpointermove = (event) => {
      const sample = this.line.sampleOf(event.clientX);
      if (this.dragged >= 0) return this.choose(this.dragged, sample);
      showTip(event, [{ text: formatBytes(this.growth.levels[sample]) }, { text: this.nameOf(sample) }]);
    };
    canvas.onpointerup = () => {
      this.dragged = -1;
    };
    canvas.onpointerleave = hideTip;
  }

  /** The samples A and B: those of the address, else the end of the first step and the last. */
  ends() {
    const { growth } = this;
    const last = growth.count - 1;
    const read = (/** @type {string} */ word, /** @type {number} */ otherwise) => {
      const value = Number(choices.get(word, "-1"));
      return value >= 0 && value <= last ? growth.nearest(value) : growth.nearest(otherwise);
    };
    return [read("a", Math.min(1, last - 1)), read("b", last)];
  }

  /**
   * @param {number} end 0 or 1
   * @param {number} sample
   */
  choose(end, sample) {
    if (this.ends()[end] !== sample) choices.set("ab"[end], String(sample));
  }

  /** @param {number} sample */
  nameOf(sample) {
    const { growth } = this;
    const time = formatSeconds(growth.seconds[sample]);
    if (!growth.hasSteps) return time;
    const { one } = growth.facts;
    return sample === 0 ? `the begin of ${one} ${growth.steps[0]}, ${time}` : `the end of ${one} ${growth.steps[sample]}, ${time}`;
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    const [a, b] = this.ends();
    this.line.draw(colours, [a, b]);
    this.inputs.forEach((input, i) => {
      const sample = [a, b][i];
      if (document.activeElement !== input) input.value = this.growth.hasSteps ? String(this.growth.steps[sample]) : this.growth.seconds[sample].toFixed(3);
    });
    this.search.refresh();
    this.keys.refresh();
    this.sayDifference(a, b);
    this.fill(a, b);
  }

  /**
   * @param {number} a
   * @param {number} b
   */
  sayDifference(a, b) {
    const { growth } = this;
    const delta = growth.levels[b] - growth.levels[a];
    const distance = growth.distance(a, b);
    const amount = makeAmount(delta);
    amount.textContent = signed(delta, formatBytes);
    const rate = distance ? `, ${signed(delta / distance, formatBytes)} per ${growth.hasSteps ? growth.facts.one : "second"}` : "";
    this.say.replaceChildren(`From ${this.nameOf(a)}: `, makeAmount(growth.levels[a]), `, to ${this.nameOf(b)}: `, makeAmount(growth.levels[b]), ". ", amount, `${rate}.`);
  }

  /**
   * @param {number} a
   * @param {number} b
   */
  fill(a, b) {
    const { model, growth } = this;
    const wanted = this.search.value.trim().toLowerCase();
    const all = model.sums(this.by, growth.between(a, b)).filter((row) => row.bytes || row.count);
    for (const row of this.by === "stack" ? all : []) row.key = model.stackOf(row.context)[0];
    all.sort((one, two) => Math.abs(two.bytes) - Math.abs(one.bytes) || (one.key < two.key ? -1 : 1));
    const rows = wanted ? all.filter((row) => row.key.toLowerCase().includes(wanted)) : all;
    const most = rows.reduce((top, row) => Math.max(top, Math.abs(row.bytes)), 1);
    const distance = growth.distance(a, b) || 1;
    const unit = growth.hasSteps ? growth.facts.one : "second";
    /** @type {any[][]} */
    const heads = [["B \u2212 A", "right", (/** @type {Row} */ row) => row.bytes], ["", "share"], [`per ${unit}`, "right wide"],
      ["Blocks", "right wide", (/** @type {Row} */ row) => row.count], [model.titleOf(this.by), "", (/** @type {Row} */ row) => row.key]];
    fillRows(this.table, heads, rows, (row) => this.makeCells(row, most, distance));
    this.table.hidden = rows.length === 0;
    const sum = rows.reduce((bytes, row) => bytes + row.bytes, 0);
    this.note.dataset.bytes = String(sum);
    this.note.textContent = [`${rows.length === 1 ? "1 row sums" : `${formatCount(rows.length)} rows sum`} to ${signed(sum, formatCount)} bytes.`,
      this.line.isCut ? `The axis begins at ${formatBytes(this.line.least)}.` : "",
      growth.facts.stride > 1 ? `A and B are at every ${formatCount(growth.facts.stride)}th ${growth.facts.one}; the line has all.` : "",
      "Drag A and B in the chart, or type."].filter((text) => text).join(" ");
  }

  /**
   * @param {Row} row
   * @param {number} most
   * @param {number} distance steps or seconds
   */
  makeCells(row, most, distance) {
    const place = makePlace(row.key);
    const source = this.by === "line" ? makeSource(this.model.page, this.model.page.lines[row.line]) : null;
    if (source) place.append(source);
    return [...makeDelta(row.bytes, most), make("td", "right wide", signed(row.bytes / distance, formatBytes)),
      make("td", "right wide", signed(row.count, formatCount)), place];
  }

  /** The rows of `leaks`. */
  makeFindings() {
    const { leaks } = this.model.page;
    if (!leaks) return [];
    const title = make("h2", "", leaks.verdict);
    title.append(make("small", "", "what rises from step to step, as peakline leaks has it"));
    if (!leaks.rows.length) return [title];
    const table = make("table", "rows found");
    /** @type {any[][]} */
    const heads = [[`per ${leaks.one}`, "right"], ["Gained", "right wide"], ["since", "right wide"], ["Line", ""]];
    fillRows(table, heads, leaks.rows, (/** @type {any} */ row) => {
      const place = makePlace(row.key);
      for (const path of row.holders) place.append(makeHolder(path));
      return [makeBytes(Math.round(row.bytes_per_unit)), makeBytes(row.total_bytes, "right wide"), make("td", "right wide", row.since), place];
    });
    return [title, table];
  }
}

/** @param {string} path "train.LOSSES[*]" */
function makeHolder(path) {
  const text = make("div", "more");
  text.append("held: ", makePlaceText(path));
  return text;
}
