// @ts-check
// The tab of requests that the device could not serve: their size, the free memory, the users of the
// rest. The engine took these figures at the request itself, so they are exact however few moments
// the page keeps.
import { byId, classOf, make, makeButton, makePlaceText } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { makeSource } from "../elements/source.js";
import { fillTable, makeAmount, makeParts } from "../elements/table.js";

export class OomView {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {import("./moment_bar.js").SetWindow} setWindow
   * @param {(number: number) => void} showMap of a refused request
   */
  constructor(model, setWindow, showMap) {
    this.model = model;
    this.showMap = showMap;
    this.setWindow = setWindow;
    this.list = model.page.refused;
    this.chosen = this.list.length - 1;
    this.build();
  }

  build() {
    const { list } = this;
    const panel = byId("oom");
    if (list.length > 1) panel.append(this.makeChooser());
    this.body = make("div");
    panel.append(this.body);
    this.fill();
  }

  makeChooser() {
    const tools = make("div", "tools");
    const label = make("label", "", "Refused request ");
    const select = make("select");
    this.list.forEach((/** @type {any} */ one, /** @type {number} */ i) => {
      const phase = this.model.phaseAt(one.seconds);
      const option = make("option", "", `${i + 1} of ${formatCount(this.list.length)}: ${formatBytes(one.requested_bytes)} at ${formatSeconds(one.seconds)}${phase ? ", " + phase : ""}`.slice(0, 120));
      option.value = String(i);
      select.append(option);
    });
    select.value = String(this.chosen);
    select.onchange = () => {
      this.chosen = Number(select.value);
      this.fill();
    };
    label.append(select);
    tools.append(label);
    if (this.list.length === this.model.page.most_refused) tools.append(make("span", "facts", `The first ${formatCount(this.list.length)} are listed.`));
    return tools;
  }

  fill() {
    const one = this.list[this.chosen];
    const { page } = this.model;
    const phase = this.model.phaseAt(one.seconds);
    const total = Number(page.run.meta[`device.${one.device}.total_bytes`]) || 0;
    const facts = [phase, formatSeconds(one.seconds), total ? `device of ${formatBytes(total)}` : ""].filter((text) => text);
    const lead = make("p", "lead");
    lead.append(makePlaceText(one.key), " asked the device for ", makeAmount(one.requested_bytes), "; ", makeAmount(one.room_bytes), ` ${one.room}.`);
    const source = makeSource(page, one);
    if (source) source.open = true;
    this.body.replaceChildren(make("h2", "big", `${formatBytes(one.requested_bytes)} refused`), make("p", "sub", facts.join(" \u00b7 ")),
      lead, source || "", make("p", "lead", one.change), ...this.makeDevice(one, total), ...this.makeLines(one), this.makeMoment(one));
    if (one.unused) this.body.querySelector(".legend").after(make("p", "note", one.unused));
  }

  /**
   * The users of the device then: live blocks by category, the rest of torch, others, free memory.
   * @param {any} one
   * @param {number} total
   */
  makeDevice(one, total) {
    const { page } = this.model;
    const parts = page.categories.map((/** @type {string} */ name, /** @type {number} */ i) => ({ name, kind: classOf(name), bytes: one.categories[i] }))
      .filter((/** @type {any} */ part) => part.bytes > 0).sort((/** @type {any} */ a, /** @type {any} */ b) => b.bytes - a.bytes);
    const reserved = one.reserved_bytes;
    if (reserved !== null && reserved >= one.level_bytes && reserved + one.free_bytes <= total) {
      parts.push({ name: "unused in torch\u2019s segments", kind: "unused", bytes: reserved - one.level_bytes });
      parts.push({ name: "outside torch\u2019s allocator", kind: "outside", bytes: total - reserved - one.free_bytes });
      parts.push({ name: "free", kind: "free", bytes: one.free_bytes });
    }
    const whole = parts.reduce((/** @type {number} */ sum, /** @type {any} */ part) => sum + part.bytes, 0);
    const title = make("h2", "", whole === total ? "The whole device then" : "Live then");
    title.append(make("small", "", formatBytes(whole)));
    return [title, ...makeParts(parts, whole)];
  }

  /** @param {any} one */
  makeLines(one) {
    const { page } = this.model;
    const rows = one.lines.map((/** @type {any} */ row) => ({ key: page.lines[row.line].key, line: row.line, bytes: row.bytes,
      count: row.count, categories: Float64Array.from(row.categories) }));
    const title = make("h2", "", "Largest lines");
    title.append(make("small", "", `of ${formatBytes(one.level_bytes)} live then`));
    const table = make("table");
    fillTable(table, rows, { total: one.level_bytes || 1, categories: page.categories, name: "line", more: (row) => makeSource(page, page.lines[row.line]) });
    const rest = one.line_count - rows.length;
    const kept = rows.reduce((/** @type {number} */ sum, /** @type {any} */ row) => sum + row.bytes, 0);
    return [title, table, make("p", "note", rest > 0 ? `${formatCount(rest)} more lines held ${formatBytes(one.level_bytes - kept)}.` : "These are all lines.")];
  }

  /** @param {any} one */
  makeMoment(one) {
    const { model } = this;
    const moment = Math.floor(one.point / model.ratio);
    const first = moment * model.ratio;
    const { best } = model.pyramid.range(first, Math.min(model.pointCount, first + model.ratio));
    const note = make("p", "note");
    const button = makeButton("Show this moment on every tab", () => this.setWindow({ from: moment, to: moment + 1 }), "link");
    const more = model.high[best] - one.level_bytes;
    if (model.page.map.moments.some((/** @type {any} */ each) => each.kind === "refused" && each.number === this.chosen)) {
      note.append(makeButton("Show the map of torch\u2019s segments then", () => this.showMap(this.chosen), "link"), ". ");
    }
    note.append(button, more === 0 ? "" : `. The page keeps the highest moment of its neighbourhood there, with ${formatBytes(more)} more; peakline html --from ${Math.max(0, one.seconds - 0.01).toFixed(3)} --to ${(one.seconds + 0.01).toFixed(3)} keeps more of that time.`);
    return note;
  }

  /** The figures are of the requests, not of the moment shown. */
  show() {}
}
