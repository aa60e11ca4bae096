// @ts-check
// The tab of phases: the figures of each; choosing one shows its time on every tab.
import { byId, make, makeButton } from "../elements/dom.js";
import { formatSeconds } from "../elements/format.js";
import { fillRows, makeBytes } from "../elements/table.js";

export class PhasesView {
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
    const { model } = this;
    const table = make("table", "rows");
    const heads = [["Peak", "right"], ["of the peak", "share"], ["Before", "right wide"], ["After", "right wide"], ["Allocated", "right wide"], ["From", "right wide"], ["Phase", ""]];
    const most = Math.max(1, ...model.intervals.map((/** @type {any} */ one) => one.peak_bytes));
    fillRows(table, heads, model.intervals, (/** @type {any} */ one, row) => this.makeCells(one, most, row));
    byId("phases").append(table, make("p", "note", model.intervals.length
      ? "A phase shows its own time on every tab when you choose it."
      : "This trace has no phases: nothing was allocated in a forward or backward pass, and the program named none."));
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
    name.append(makeButton((one.step === null ? "" : `step ${one.step} `) + one.name, choose, "link"));
    return [makeBytes(one.peak_bytes), share, makeBytes(one.begin_bytes, "right wide"), makeBytes(one.end_bytes, "right wide"),
      makeBytes(one.allocated_bytes, "right wide"), make("td", "right wide", formatSeconds(one.begin_seconds)), name];
  }

  /** Nothing here depends on the moment. */
  show() {}
}
