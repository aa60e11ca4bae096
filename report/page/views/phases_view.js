// @ts-check
// The tab of phases: what each did; choosing one shows its time on every tab.
import { byId, make } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";

const MOST_PHASES = 2000;

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
    const head = make("thead");
    const heads = make("tr");
    for (const [text, kind] of [["Peak", "right"], ["of the peak", "share"], ["Before", "right wide"], ["After", "right wide"], ["Allocated", "right wide"], ["From", "right wide"], ["Phase", ""]]) {
      const cell = make("th", kind, text);
      cell.scope = "col";
      heads.append(cell);
    }
    head.append(heads);
    const body = make("tbody");
    const most = Math.max(1, ...model.intervals.map((/** @type {any} */ one) => one.peak_bytes));
    for (const one of model.intervals.slice(0, MOST_PHASES)) body.append(this.makeRow(one, most));
    table.append(head, body);
    byId("phases").append(table, make("p", "note", model.intervals.length
      ? "A phase shows its own time on every tab when you choose it." +
        (model.intervals.length > MOST_PHASES ? ` The first ${formatCount(MOST_PHASES)} of ${formatCount(model.intervals.length)} phases; peakline phases --top 0 lists all.` : "")
      : "This trace has no phases: nothing was allocated in a forward or backward pass, and the program named none."));
  }

  /**
   * @param {any} one an interval of the engine
   * @param {number} most
   */
  makeRow(one, most) {
    const { model } = this;
    const row = make("tr", one.peak_bytes === most ? "on" : "");
    const share = make("td", "share");
    const bar = make("div", "mix");
    bar.append(make("span", "plain"));
    bar.firstChild.style.flexGrow = "1";
    bar.style.width = (one.peak_bytes / most) * 100 + "%";
    share.append(bar);
    const place = make("td", "place");
    const button = make("button", "link", (one.step === null ? "" : `step ${one.step} `) + one.name);
    button.type = "button";
    button.onclick = () => {
      const from = Math.floor(model.pointAt(one.begin_seconds) / model.ratio);
      const to = Math.floor(model.pointAt(one.end_seconds) / model.ratio) + 1;
      this.setWindow({ from, to });
    };
    place.append(button);
    row.append(make("td", "right", formatBytes(one.peak_bytes)), share, make("td", "right wide", formatBytes(one.begin_bytes)),
      make("td", "right wide", formatBytes(one.end_bytes)), make("td", "right wide", formatBytes(one.allocated_bytes)),
      make("td", "right wide", formatSeconds(one.begin_seconds)), place);
    return row;
  }

  /** Nothing here depends on the moment. */
  show() {}
}
