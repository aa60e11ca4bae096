// @ts-check
// The tab of lines: rows by a key, at the moment shown or over the whole run; find, source, stacks.
import { choices } from "../data/choices.js";
import { byId, make, makeChoice, makeSearch } from "../elements/dom.js";
import { formatBytes, formatCount, formatShare } from "../elements/format.js";
import { chosenSet, makeKindChoice, sayKind, sumOf } from "./kinds.js";
import { makeCode, makeSource } from "../elements/source.js";
import { makeStack } from "../elements/stack.js";
import { fillTable } from "../elements/table.js";

/** @typedef {import("../data/model.js").Row} Row */

export class LinesView {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {(kind: string) => void} setKind
   */
  constructor(model, setKind) {
    this.model = model;
    this.build(setKind);
  }

  /** @param {(kind: string) => void} setKind */
  build(setKind) {
    const tools = make("div", "tools");
    this.search = makeSearch("Find rows", "file, function, name", () => choices.get("find"), (text) => choices.set("find", text));
    this.kinds = makeKindChoice(this.model, setKind);
    this.keys = makeChoice("Rows are", ["line", "stack", "function", "file", ...this.model.keys], () => this.by, (key) => choices.set("rows", key, "line"));
    tools.append(this.search, this.kinds, this.keys);
    this.kindText = make("p", "say");
    this.table = make("table");
    this.note = make("p", "note");
    this.note.id = "sum";
    byId("lines").append(tools, this.kindText, this.table, this.note);
  }

  get by() {
    return choices.get("rows", "line");
  }

  show() {
    const { model } = this;
    this.search.refresh();
    this.keys.refresh();
    const shown = chosenSet(model);
    const total = sumOf(shown.bytes);
    const wanted = this.search.value.trim().toLowerCase();
    const all = model.rows(this.by, shown);
    const rows = wanted ? all.filter((row) => this.textsOf(row).some((text) => text.toLowerCase().includes(wanted))) : all;
    this.kinds.refresh();
    this.kindText.textContent = sayKind(model, shown);
    this.kindText.hidden = model.kind === "now";
    fillTable(this.table, rows, { total: total || 1, categories: model.page.categories, name: this.by, more: (row) => this.moreOf(row) });
    const sum = rows.reduce((bytes, row) => bytes + row.bytes, 0);
    this.note.dataset.bytes = String(sum);
    const count = formatCount(rows.length) + (rows.length === 1 ? " row sums" : " rows sum");
    this.note.textContent = `${wanted ? `Found: ${formatBytes(sum)}, ${formatShare(sum / (total || 1))}. ` : ""}` +
      `${count} to ${formatCount(sum)} bytes${wanted || model.kind !== "now" ? "" : ", the memory at this moment"}.`;
  }

  /**
   * The texts that a search looks at.
   * @param {Row} row
   */
  textsOf(row) {
    return this.by === "stack" ? this.model.stackOf(row.context) : [row.key];
  }

  /**
   * The elements below the name of a row.
   * @param {Row} row
   */
  moreOf(row) {
    const { page } = this.model;
    if (this.by === "stack") return makeStack(this.model.stackOf(row.context));
    if (this.by !== "line") return null;
    const line = page.lines[row.line];
    const parts = [makeCode(line), makeVias(row, page.vias), makeSource(page, line)].filter((part) => part);
    const more = make("div");
    more.append(...parts);
    return parts.length ? more : null;
  }
}

/**
 * The operators that requested the memory of a line, as the terminal shows them: the largest one,
 * and how many more.
 * @param {Row} row
 * @param {string[]} names
 */
function makeVias(row, names) {
  const parts = [...row.vias].sort((a, b) => b[1] - a[1] || (names[a[0]] < names[b[0]] ? -1 : 1)).map(([via, bytes]) => ({ name: names[via], bytes }));
  const known = parts.filter((part) => part.name);
  if (!known.length) return null;
  const first = `via ${known[0].name}`;
  if (parts.length === 1) return make("div", "more via", first.slice(0, 300));
  const details = make("details");
  const list = make("ul", "vias");
  for (const { name, bytes } of parts) {
    const item = make("li", "", `${formatBytes(bytes)}  ${(name || "not known").slice(0, 300)}`);
    item.title = formatCount(bytes) + " bytes";
    list.append(item);
  }
  details.append(make("summary", "more via", `${first.slice(0, 300)}, +${formatCount(parts.length - 1)} more`), list);
  return details;
}
