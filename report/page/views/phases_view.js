// @ts-check
// The tab of phases: the figures of each; choosing one shows its time on every tab.
import { choices } from "../data/choices.js";
import { byId, make, makeButton, makeSearch } from "../elements/dom.js";
import { formatSeconds } from "../elements/format.js";
import { fillRows, makeBytes } from "../elements/table.js";

export class PhasesView {
  /** @type {string} */ found;

  /**
   * @param {import("../data/model.js").Model} model
   * @param {import("./moment_bar.js").SetWindow} setWindow
   */
  constructor(model, setWindow) {
    this.model = model;
    this.setWindow = setWindow;
    this.build();
  }

  build() {
    const tools = make("div", "tools");
    this.search = makeSearch("Find phases", "step 12, backward", () => choices.get("phase"), (text) => choices.set("phase", text));
    tools.append(this.search);
    this.table = make("table", "rows");
    this.found = "?";
    byId("phases").append(tools, this.table, make("p", "note", "A phase shows its own time on every tab when you choose it."));
  }

  /** Only the search changes the rows. */
  show() {
    const wanted = choices.get("phase").trim().toLowerCase();
    this.search.refresh();
    if (this.found === wanted) return;
    this.found = wanted;
    const by = (/** @type {string} */ field) => (/** @type {any} */ one) => one[field];
    /** @type {any[][]} */
    const heads = [["Peak", "right", by("peak_bytes")], ["of the peak", "share"], ["Before", "right wide", by("begin_bytes")], ["After", "right wide", by("end_bytes")],
      ["Allocated", "right wide", by("allocated_bytes")], ["From", "right wide", by("begin_seconds")], ["Phase", "", nameOfPhase]];
    const { intervals } = this.model;
    const most = intervals.reduce((/** @type {number} */ top, /** @type {any} */ one) => Math.max(top, one.peak_bytes), 1);
    const rows = wanted ? intervals.filter((/** @type {any} */ one) => (nameOfPhase(one) + " ").includes(wanted + " ") || nameOfPhase(one).includes(wanted) && !/\d$/.test(wanted)) : intervals;
    fillRows(this.table, heads, rows, (/** @type {any} */ one, row) => this.makeCells(one, most, row));
  }

  /**
   * @param {any} one an interval of the engine
   * @param {number} most
   * @param {HTMLElement} row
   */
  makeCells(one, most, row) {
    const { model } = this;
    row.className = one.peak_bytes === most ? "on" : "";
    const share = make("td", "share");
    const bar = make("div", "mix");
    bar.append(make("span", "plain"));
    bar.firstChild.style.flexGrow = "1";
    bar.style.width = (one.peak_bytes / most) * 100 + "%";
    share.append(bar);
    const name = make("td", "place");
    const choose = () => {
      const from = Math.floor(model.pointAt(one.begin_seconds) / model.ratio);
      const to = Math.floor(model.pointAt(one.end_seconds) / model.ratio) + 1;
      this.setWindow({ from, to });
    };
    name.append(makeButton(nameOfPhase(one), choose, "link"));
    return [makeBytes(one.peak_bytes), share, makeBytes(one.begin_bytes, "right wide"), makeBytes(one.end_bytes, "right wide"),
      makeBytes(one.allocated_bytes, "right wide"), make("td", "right wide", formatSeconds(one.begin_seconds)), name];
  }
}

/** @param {any} one an interval of the engine */
function nameOfPhase(one) {
  return (one.step === null ? "" : `step ${one.step} `) + one.name;
}
