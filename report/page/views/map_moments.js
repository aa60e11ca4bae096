// @ts-check
// Which state the map shows: that of the moment on the bar, or a moment by its name. A short run is
// known at every event, a long one at the moments that the engine chose.
import { formatBytes, formatSeconds } from "../elements/format.js";

/** @typedef {import("../data/allocator_history.js").AllocatorHistory} AllocatorHistory */
/** @typedef {import("../data/allocator_history.js").MapMoment} MapMoment */

/** The kinds of moments in their order: the first one names a state that has several. */
const RANKS = ["refused", "peak", "reserved", "end", "phase"];

export class MapMoments {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {AllocatorHistory} history
   */
  constructor(model, history) {
    this.model = model;
    this.history = history;
    this.list = history.moments.filter((one, i, all) => all.findIndex((other) => other.change === one.change && other.kind === one.kind) === i);
    // The chosen change, while the window is this one.
    /** @type {{change: number, window: any, moment: MapMoment | null} | null} */
    this.chosen = null;
  }

  /** How many changes the shown state has. */
  get change() {
    const { model, history } = this;
    if (this.chosen && this.chosen.window === model.window) return this.chosen.change;
    this.chosen = null;
    if (!history.hasEveryEvent) return this.nearest().change;
    const peak = this.list.find((one) => one.kind === "peak");
    if (peak && model.point === model.page.peak.point) return peak.change;
    return history.changeAt(model.columns.point_begin[model.point] + model.columns.point_peak_offset[model.point]);
  }

  /** The moment with a name that is nearest to the one of the bar. */
  nearest() {
    const { model } = this;
    if (!model.window) return this.list.find((one) => one.kind === "peak") || this.list[0];
    const seconds = model.peakAt[model.point];
    return this.list.reduce((best, one) => (Math.abs(one.seconds - seconds) < Math.abs(best.seconds - seconds) ? one : best));
  }

  /** The moments with a name; a long run also has some without one. */
  get names() {
    return this.list.filter((one) => one.kind !== "time");
  }

  /**
   * The chosen moment, else the first of these by RANKS.
   * @param {number} change
   */
  named(change) {
    const found = this.names.filter((one) => one.change === change);
    const chosen = this.chosen && this.chosen.window === this.model.window ? this.chosen.moment : null;
    if (chosen && found.includes(chosen)) return chosen;
    return found.sort((a, b) => RANKS.indexOf(a.kind) - RANKS.indexOf(b.kind))[0];
  }

  /** @param {number} change */
  secondsOf(change) {
    const known = this.list.find((one) => one.change === change);
    if (known) return known.seconds;
    return change ? this.history.tick[change - 1] * this.model.page.tick_seconds : 0;
  }

  /**
   * The moment of the bar in which a change lies.
   * @param {number} change
   */
  windowOf(change) {
    const { model } = this;
    const moment = Math.floor(model.pointAt(this.secondsOf(change) + model.page.tick_seconds / 2) / model.ratio);
    return { from: moment, to: moment + 1 };
  }

  /**
   * The nearest state that has a ledger.
   * @param {number} change
   */
  ledgerNear(change) {
    const seconds = this.secondsOf(change);
    const with_ = this.list.filter((one) => one.ledger);
    return with_.length ? with_.reduce((best, one) => (Math.abs(one.seconds - seconds) < Math.abs(best.seconds - seconds) ? one : best)) : null;
  }

  /** @param {MapMoment} one */
  nameOf(one) {
    const { page } = this.model;
    if (one.kind === "peak") return page.is_part ? "highest moment" : "peak";
    if (one.kind === "reserved") return "most reserved";
    if (one.kind === "end") return "end";
    if (one.kind === "refused") return `refused request ${one.number + 1}: ${formatBytes(page.refused[one.number].requested_bytes)}`;
    const phase = page.phases.phases[one.number];
    return `end of ${phase.step === null ? "" : `step ${phase.step} `}${phase.name}`;
  }

  /** @param {MapMoment} one */
  optionOf(one) {
    return `${this.nameOf(one)}, ${formatSeconds(one.seconds)}`.slice(0, 120);
  }

  /**
   * The last change in words.
   * @param {number} change
   */
  sayLast(change) {
    const { history, model } = this;
    if (change <= history.first) return "";
    const { columns, page } = model;
    const id = history.id[change - 1];
    const kind = history.kind[change - 1];
    if (kind > 5) return `${kind === 6 ? "Pool in use" : "Pool released"}: ${page.map.pools[id]}`;
    if (kind > 3) return `${kind === 4 ? "Segment obtained" : "Segment given back"}: ${formatBytes(columns.piece_bytes[id])}`;
    const what = ["", "Allocated", "Freed, in use by another stream", history.hasWaited[id] ? "The other stream is done" : "Freed"][kind];
    return `${what}: ${formatBytes(columns.block_bytes[id])}, ${page.lines[columns.context_line[columns.block_context[id]]].key.slice(0, 300)}`;
  }
}
