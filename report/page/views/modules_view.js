// @ts-check
// The tab of modules: the memory of each part of the model, repeated layers as one.
import { byId, make } from "../elements/dom.js";
import { fillTable } from "../elements/table.js";

export class ModulesView {
  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.build();
  }

  build() {
    this.table = make("table");
    byId("modules").append(this.table, make("p", "note",
      "Repeated layers are one row (h.*.mlp). Each row is the module\u2019s own memory; the flame, module first, shows what is below a module."));
  }

  show() {
    const { model } = this;
    fillTable(this.table, model.rows("layers"), { total: model.bytes, categories: model.page.categories, name: "module" });
  }
}
