// @ts-check
// The timeline stacked by line or another key: the bytes that the largest groups held at the
// highest moment of every column, from walks over the differences of the live sets.

/** @typedef {import("./model.js").Model} Model */

/** Their colours in order: tokens of categories, which tests keep apart. */
export const SERIES_KINDS = ["parameter", "temporary", "gradient", "cache", "optimizer-state", "activation", "communication", "input"];

/** The contexts of a page by one key. */
export class Groups {
  /**
   * @param {Model} model
   * @param {string} by
   */
  constructor(model, by) {
    this.by = by;
    this.live = model.live;
    this.of = new Uint32Array(model.live.contextCount);
    /** @type {string[]} */
    this.names = [];
    const keyOf = model.grouping(by);
    /** @type {Map<string, number>} */
    const ids = new Map();
    for (let context = 0; context < this.of.length; context++) {
      const key = keyOf(context);
      let id = ids.get(key);
      if (id === undefined) {
        id = this.names.length;
        ids.set(key, id);
        this.names.push(key);
      }
      this.of[context] = id;
    }
  }

  /** @param {import("./model.js").LiveSet} live */
  sums(live) {
    const sums = new Float64Array(this.names.length);
    live.bytes.forEach((bytes, context) => (sums[this.of[context]] += bytes));
    return sums;
  }

  /**
   * The highest level of every group at any of these moments, which never fall.
   * @param {number[]} moments
   */
  most(moments) {
    const { live, of } = this;
    const sums = this.sums(live.at(moments[0]));
    const most = sums.slice();
    for (let i = 1; i < moments.length; i++) {
      const from = live.begin[moments[i - 1] + 1];
      const to = live.begin[moments[i] + 1];
      for (let j = from; j < to; j++) sums[of[live.context[j]]] += live.bytesMore[j];
      for (let j = from; j < to; j++) {
        const group = of[live.context[j]];
        if (sums[group] > most[group]) most[group] = sums[group];
      }
    }
    return most;
  }

  /**
   * Levels of some groups at these moments, moment by moment.
   * @param {number[]} moments
   * @param {number[]} chosen
   */
  levels(moments, chosen) {
    const { live, of } = this;
    const order = new Int32Array(this.names.length).fill(-1);
    chosen.forEach((group, i) => (order[group] = i));
    const sums = this.sums(live.at(moments[0]));
    const now = Float64Array.from(chosen, (group) => sums[group]);
    const levels = new Float64Array(moments.length * chosen.length);
    levels.set(now);
    for (let i = 1; i < moments.length; i++) {
      const to = live.begin[moments[i] + 1];
      for (let j = live.begin[moments[i - 1] + 1]; j < to; j++) {
        const at = order[of[live.context[j]]];
        if (at >= 0) now[at] += live.bytesMore[j];
      }
      levels.set(now, i * chosen.length);
    }
    return levels;
  }
}

export class Series {
  /**
   * @param {Model} model
   * @param {Groups} groups
   * @param {number[]} points the highest of every column
   * @param {Series | null} before a group that it has keeps its number and colour
   */
  constructor(model, groups, points, before) {
    const moments = points.map((point) => Math.floor(point / model.ratio));
    const most = groups.most(moments);
    this.groups = groups;
    /** The largest first, as they are stacked from below. */
    this.chosen = [...most.keys()].filter((i) => most[i] > 0)
      .sort((a, b) => most[b] - most[a] || (groups.names[a] < groups.names[b] ? -1 : 1)).slice(0, SERIES_KINDS.length);
    this.levels = groups.levels(moments, this.chosen);
    this.colours = this.keepColours(before);
    /** The number of columns without the live set of their highest point. */
    this.nearCount = points.filter((point, i) => model.pointOfMoment(moments[i]) !== point).length;
  }

  /**
   * An index in SERIES_KINDS for every chosen group.
   * @param {Series | null} before
   * @returns {number[]}
   */
  keepColours(before) {
    const old = before && before.groups === this.groups ? before : null;
    const colours = this.chosen.map((group) => (old && old.chosen.includes(group) ? old.colours[old.chosen.indexOf(group)] : -1));
    const free = [...SERIES_KINDS.keys()].filter((colour) => !colours.includes(colour));
    return colours.map((colour) => (colour >= 0 ? colour : /** @type {number} */ (free.shift())));
  }

  /**
   * The parts of a column from below: every group at its own height, cut at the total, which is exact;
   * last the rest.
   * @param {number} column
   * @param {number} total
   */
  parts(column, total) {
    let rest = total;
    const parts = this.chosen.map((_, i) => {
      const bytes = Math.min(rest, this.levels[column * this.chosen.length + i]);
      rest -= bytes;
      return bytes;
    });
    return [...parts, rest];
  }

  /** Names with their numbers, then the rest. */
  get names() {
    return [...this.chosen.map((group, i) => `${this.colours[i] + 1}  ${this.groups.names[group]}`), "the rest"];
  }

  get kinds() {
    return [...this.colours.map((colour) => SERIES_KINDS[colour]), "kept"];
  }
}
