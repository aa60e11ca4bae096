// @ts-check
// The tab of modules: the memory of each part of the model, repeated layers as one. A row leads to its blocks.
import { choices } from "../data/choices.js";
import { byId, make, makeButton, makeSearch } from "../elements/dom.js";
import { fillTable } from "../elements/table.js";

export class ModulesView {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {(words: Record<string, string>) => void} showTensors
   */
  constructor(model, showTensors) {
    this.model = model;
    this.showTensors = showTensors;
    this.build();
  }

  build() {
    const tools = make("div", "tools");
    this.search = makeSearch("Find modules", "module", () => choices.get("module"), (text) => choices.set("module", text));
    tools.append(this.search);
    this.table = make("table");
    byId("modules").append(tools, this.table, make("p", "note",
      "Repeated layers are one row (h.*.mlp). Each row is the module\u2019s own memory; the flame, module first, shows what is below a module."));
  }

  show() {
    const { model } = this;
    const wanted = choices.get("module").trim().toLowerCase();
    this.search.refresh();
    const rows = model.rows("layers").filter((row) => row.key.toLowerCase().includes(wanted));
    fillTable(this.table, rows, { total: model.bytes, categories: model.page.categories, name: "module",
      more: (row) => makeButton("its blocks", () => this.showTensors({ tensor: `module=${row.key}` }), "link more") });
  }
}
