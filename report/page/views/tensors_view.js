// @ts-check
// The tab of tensors: every block that is live at the moment shown, one by one.
import { choices } from "../data/choices.js";
import { layersOf } from "../data/model.js";
import { byId, classOf, make, makeButton, makeChoice, makeSearch, shortName } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { save } from "../elements/save.js";
import { fillRows, makeBytes, makePlace } from "../elements/table.js";
import { makeCodeOfBlock, rowOfBlock, whatOf } from "./block_details.js";

const ALL = "all";
// A search for the blocks of one module, as the tab of modules has it.
const OF_MODULE = "module=";
// A cell that begins so is a formula to a spreadsheet.
const FORMULA = /^[=+\-@\t\r]/;

/** @typedef {import("./block_details.js").TensorRow} TensorRow */

export class TensorsView {
  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.tensors = model.tensors;
    /** @type {TensorRow[]} */
    this.rows = [];
    this.build();
  }

  build() {
    const tools = make("div", "tools");
    this.search = makeSearch("Find blocks", "name, shape, line, module", () => choices.get("tensor"), (text) => choices.set("tensor", text));
    this.kinds = make("span");
    tools.append(this.search, this.kinds, makeButton("Download CSV", () => this.download()));
    this.table = make("table", "rows tensors");
    this.note = make("p", "note");
    byId("tensors").append(tools, this.table, this.note);
  }

  get category() {
    return choices.get("category", ALL);
  }

  show() {
    const { model, tensors } = this;
    const live = tensors.liveAt(model.point).map((block) => rowOfBlock(model, block));
    const categories = [...new Set(live.map((row) => row.category))].sort();
    this.search.refresh();
    const chosen = categories.includes(this.category) ? this.category : ALL;
    this.kinds.replaceChildren(makeChoice("Category", [ALL, ...categories], () => chosen, (word) => choices.set("category", word, ALL)));
    const wanted = this.search.value.trim().toLowerCase();
    const isWanted = wanted.startsWith(OF_MODULE) ? (/** @type {TensorRow} */ row) => layersOf(row.module).toLowerCase() === wanted.slice(OF_MODULE.length)
      : (/** @type {TensorRow} */ row) => textOfRow(row).includes(wanted);
    this.rows = live.filter((row) => (chosen === ALL || row.category === chosen) && (!wanted || isWanted(row)));
    this.fill();
    this.sayRest(live, wanted !== "" || chosen !== ALL);
  }

  fill() {
    const by = (/** @type {keyof TensorRow} */ key) => (/** @type {TensorRow} */ row) => row[key] ?? -1;
    /** @type {any[][]} */
    const heads = [["Memory", "right", by("bytes")], ["From when to when", "share", by("made")], ["What", "", (/** @type {TensorRow} */ row) => whatOf(row)],
      ["Tensor", "wide type", by("type")], ["Made at", "", by("line")], ["Freed", "wide", (/** @type {TensorRow} */ row) => row.freed ?? Infinity]];
    fillRows(this.table, heads, this.rows, (row) => this.makeCells(row));
  }

  /** @param {TensorRow} row */
  makeCells(row) {
    const { model } = this;
    const what = make("td", "what");
    what.append(make("bdi", "", shortName(whatOf(row))));
    const detail = [row.name ? row.category : "", row.module && row.module !== "none" ? row.module : ""].filter((text) => text).join(", ");
    if (detail) what.append(make("div", "more", shortName(detail)));
    const made = makePlace(row.line);
    const phase = row.made === null ? "" : model.phaseAt(row.made);
    made.append(make("div", "more", row.made === null ? "before the time shown" : formatSeconds(row.made) + (phase ? `, ${phase}` : "")));
    if (row.saved !== null) made.append(make("div", "more", `saved by ${row.savedBy}, ${formatSeconds(row.saved)}`));
    made.append(this.makeMore(row.block));
    const freed = make("td", "wide place");
    freed.append(make("bdi", "", shortName(row.freedBy)));
    if (row.freed !== null) freed.append(make("div", "more", formatSeconds(row.freed)));
    return [makeBytes(row.bytes), this.makeLife(row), what, make("td", "wide type", row.type), made, freed];
  }

  /**
   * Source and stack, made when they are opened: a table is drawn anew for each moment of a drag.
   * @param {number} block
   */
  makeMore(block) {
    const details = make("details");
    details.append(make("summary", "more", "code and callers"));
    details.ontoggle = () => {
      if (details.childElementCount > 1) return;
      details.append(...makeCodeOfBlock(this.model, block));
    };
    return details;
  }

  /**
   * The life of a block as a bar over the whole run, as wide as the bar above is by events.
   * @param {TensorRow} row
   */
  makeLife(row) {
    const [from, to] = this.tensors.lifeOf(row.block);
    const cell = make("td", "share");
    const box = make("div", "life");
    const bar = make("span", classOf(row.category));
    bar.style.left = Math.min(99, from * 100) + "%";
    bar.style.width = Math.max(1, (to - from) * 100) + "%";
    box.append(bar);
    cell.append(box);
    return cell;
  }

  /**
   * @param {TensorRow[]} live
   * @param {boolean} isPart
   */
  sayRest(live, isPart) {
    const { model, tensors } = this;
    const sum = this.rows.reduce((bytes, row) => bytes + row.bytes, 0);
    const listed = live.reduce((bytes, row) => bytes + row.bytes, 0);
    const count = model.now.count.reduce((all, one) => all + one, 0);
    this.note.dataset.bytes = String(sum);
    this.note.dataset.rest = String(model.bytes - listed);
    const rows = `${formatCount(this.rows.length)} ${this.rows.length === 1 ? "block sums" : "blocks sum"} to ${formatCount(sum)} bytes`;
    const rest = tensors.facts.left_out_count && model.bytes > listed
      ? ` ${formatCount(count - live.length)} other blocks, ${formatBytes(model.bytes - listed)}, are not listed: a page of so long a run keeps the largest ones.` : "";
    this.note.textContent = `${rows}${isPart || rest ? "" : ", the memory at this moment"}.${rest}`;
  }

  /** The rows shown, as a file. */
  download() {
    const heads = ["bytes", "dtype_and_shape", "name", "category", "module", "operator", "made_seconds", "made_in", "made_at", "saved_seconds", "saved_by", "freed_seconds", "freed_by"];
    const lines = this.rows.map((row) => [row.bytes, row.type, row.name, row.category, row.module, row.operator, row.made ?? "", row.made === null ? "" : this.model.phaseAt(row.made), row.line, row.saved ?? "", row.savedBy, row.freed ?? "", row.freedBy]);
    save("tensors.csv", new Blob([[heads, ...lines].map((line) => line.map(cellOfCsv).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  }
}

/** @param {TensorRow} row */
function textOfRow(row) {
  return [row.name, row.type, row.category, row.module, row.operator, row.line, row.savedBy, row.freedBy].join("\n").toLowerCase();
}

/** @param {string | number} value */
function cellOfCsv(value) {
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
