// @ts-check
// The tab of lines: rows by a key at the moment shown, find, source.
import { byId, make, makeChoice } from "./dom.js";
import { formatBytes, formatCount, formatShare } from "./format.js";
import { makeSource } from "./source.js";
import { fillTable } from "./table.js";

const LINE_KEYS = ["line", "function", "file", "module", "operator", "category", "phase", "lifetime"];

export class LinesView {
  /** @param {import("./model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.by = "line";
    this.build();
  }

  build() {
    const tools = make("div", "tools");
    this.search = make("input");
    this.search.type = "search";
    this.search.placeholder = "file, function, name";
    this.search.setAttribute("aria-label", "Find rows");
    this.search.oninput = () => this.show();
    tools.append(this.search, makeChoice("Rows are", LINE_KEYS.map((key) => [key, key]), () => this.by, (key) => {
      this.by = key;
      this.show();
    }));
    this.table = make("table");
    this.note = make("p", "note");
    this.note.id = "sum";
    byId("lines").append(tools, this.table, this.note);
  }

  show() {
    const { model } = this;
    const wanted = this.search.value.trim().toLowerCase();
    const all = model.rows(this.by);
    const rows = wanted ? all.filter((row) => row.key.toLowerCase().includes(wanted)) : all;
    fillTable(this.table, rows, { total: model.bytes, categories: model.page.categories, name: this.by,
      more: (row) => (this.by === "line" ? makeSource(model.page, model.page.lines[row.line]) : null) });
    const sum = rows.reduce((total, row) => total + row.bytes, 0);
    this.note.dataset.bytes = String(sum);
    const count = formatCount(rows.length) + (rows.length === 1 ? " row sums" : " rows sum");
    this.note.textContent = `${wanted ? `Found: ${formatBytes(sum)}, ${formatShare(sum / model.bytes)}. ` : ""}` +
      `${count} to ${formatCount(sum)} bytes${wanted ? "" : ", the memory at this moment"}.`;
  }
}
