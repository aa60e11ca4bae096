// @ts-check
// The data of the page and the one window that every tab shows: the live set at its highest moment.
import { Growth } from "./growth.js";
import { LiveSets } from "./live_sets.js";
import { Pyramid } from "./pyramid.js";
import { Tensors } from "./tensors.js";
import { MOST_NODES, Tree } from "./tree.js";

/** @typedef {{bytes: Float64Array, count: Float64Array}} LiveSet */
/**
 * `context`: one of those summed; `vias`: bytes by the operator or line that requested them below the line.
 * @typedef {{key: string, bytes: number, count: number, categories: Float64Array, line: number, context: number, vias: Map<number, number>}} Row
 */

/**
 * A module with all repeated layers as one.
 * @param {string} module
 */
export function layersOf(module) {
  return module.replace(/\.\d+(?=\.|$)/g, ".*");
}

export class Model {
  /**
   * @param {any} page the JSON of the engine
   * @param {import("./columns.js").Columns} columns
   */
  constructor(page, columns) {
    this.page = page;
    this.columns = columns;
    this.unit = page.byte_unit;
    const contextCount = columns.context_node.length;
    /** @type {Record<string, string[]>} names by key */
    this.names = {};
    /** @type {Record<string, Float64Array>} by key: the number of the name of each context */
    this.numbers = {};
    page.keys.forEach((/** @type {any} */ key, /** @type {number} */ i) => {
      this.names[key.name] = key.names;
      this.numbers[key.name] = columns.context_key.subarray(i * contextCount, (i + 1) * contextCount);
    });
    /** The keys of the engine; `rowKeys`: those of the charts, too. */
    this.keys = Object.keys(this.names);
    this.rowKeys = ["line", ...this.keys];
    this.pointCount = columns.point_begin.length;
    this.ratio = page.points_per_moment;
    this.high = columns.point_peak.map((one) => one * this.unit);
    this.low = columns.point_low.map((one) => one * this.unit);
    this.begin = columns.point_begin.map((tick) => tick * page.tick_seconds);
    this.peakAt = columns.point_begin.map((tick, i) => (tick + columns.point_peak_offset[i]) * page.tick_seconds);
    this.end = page.end_tick * page.tick_seconds;
    this.pyramid = new Pyramid(this.high, this.low, columns.point_traced);
    this.live = new LiveSets(contextCount, this.unit, { changes: columns.moment_changes, context: columns.change_context,
      bytes: columns.change_bytes, count: columns.change_count });
    this.growth = new Growth(page, columns);
    this.tensors = new Tensors(page, columns);
    // The most that torch's segments held in every point; empty: unknown.
    this.reserved = columns.point_reserved.map((one) => one * this.unit);
    this.reservedPyramid = this.reserved.length ? new Pyramid(this.reserved, this.reserved, this.reserved.map(() => 1)) : null;
    this.intervals = page.phases.phases.filter((/** @type {any} */ one) => one.depth === 0);
    // Then the process exits.
    this.workEnd = page.work_end_seconds;
    /** @type {{from: number, to: number} | null} moments; null: the whole run */
    this.window = null;
    // The memory that tables and flames show: a word of KINDS in kinds.js.
    this.kind = "now";
    // The key that the timeline stacks.
    this.stacked = "category";
    // The moment shown: the highest point of the window, its moment, the live set then.
    this.point = 0;
    this.moment = 0;
    this.now = this.live.empty();
    this.bytes = 0;
    this.show(null);
  }

  /**
   * @param {number} point
   * @param {number} category
   */
  levelOf(point, category) {
    return this.columns.point_category[category * this.pointCount + point] * this.unit;
  }

  /**
   * The point that belongs to the live set of a moment.
   * @param {number} moment
   */
  pointOfMoment(moment) {
    const first = moment * this.ratio;
    return this.pyramid.range(first, Math.min(this.pointCount, first + this.ratio)).best;
  }

  get momentCount() {
    return this.live.momentCount;
  }

  /**
   * Sets the window, in moments.
   * @param {{from: number, to: number} | null} window
   */
  show(window) {
    const whole = !window || window.to - window.from >= this.momentCount;
    this.window = whole ? null : window;
    const from = whole || !window ? 0 : window.from * this.ratio;
    const to = whole || !window ? this.pointCount : Math.min(this.pointCount, window.to * this.ratio);
    this.point = whole ? this.page.peak.point : this.pyramid.range(from, to).best;
    this.moment = Math.floor(this.point / this.ratio);
    this.now = this.live.at(this.moment);
    this.bytes = this.high[this.point];
  }

  /**
   * Begin of a moment in seconds; behind the last one the end.
   * @param {number} moment
   */
  secondsOf(moment) {
    const point = moment * this.ratio;
    return point >= this.pointCount ? this.end : this.begin[point];
  }

  /**
   * The point that holds a time.
   * @param {number} seconds
   */
  pointAt(seconds) {
    let low = 0;
    let high = this.pointCount;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.begin[middle] <= seconds) low = middle;
      else high = middle;
    }
    return low;
  }

  /**
   * "step 1 forward" at a time; empty outside of phases.
   * @param {number} seconds
   */
  phaseAt(seconds) {
    let found = null;
    for (const one of this.intervals) {
      if (one.begin_seconds <= seconds && seconds <= one.end_seconds) found = one;
    }
    if (!found) return "";
    return (found.step === null ? "" : `step ${found.step} `) + found.name;
  }

  /**
   * The name of a context by a key of the engine.
   * @param {string} key
   * @param {number} context
   */
  nameOf(key, context) {
    return this.names[key][this.numbers[key][context]];
  }

  /**
   * The name on the page of a key of `--by`.
   * @param {string} by
   */
  titleOf(by) {
    return this.page.keys.find((/** @type {any} */ key) => key.by === by)?.name ?? by;
  }

  /**
   * A name for every context: the rows of a key.
   * @param {string} by
   * @returns {(context: number) => string}
   */
  grouping(by) {
    const { page, columns } = this;
    if (this.names[by]) return (i) => this.nameOf(by, i);
    const line = (/** @type {number} */ i) => page.lines[columns.context_line[i]];
    /** @type {Record<string, (i: number) => string>} */
    const keys = {
      line: (i) => line(i).key,
      function: (i) => (line(i).function ? `${line(i).function} (${line(i).file})` : line(i).key),
      file: (i) => line(i).file || line(i).key,
      layers: (i) => layersOf(this.nameOf("module", i)),
      stack: (i) => String(columns.context_node[i]),
    };
    return keys[by];
  }

  /**
   * Rows of a live set, largest first.
   * @param {string} by
   * @param {LiveSet} live
   * @returns {Row[]}
   */
  rows(by, live = this.now) {
    const rows = this.sums(by, live);
    if (by === "stack") {
      for (const row of rows) row.key = this.stackOf(row.context)[0];
    }
    return rows.sort((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : 1));
  }

  /**
   * The frames of a context's stack, the innermost first.
   * @param {number} context
   */
  stackOf(context) {
    const { page, columns } = this;
    const texts = [];
    for (let node = columns.context_node[context]; node; node = columns.node_parent[node]) {
      const { file, line, function: name } = page.frames[columns.node_frame[node]];
      const location = file ? file + (line ? `:${line}` : "") : "";
      texts.push(location ? location + (name ? ` (${name})` : "") : name);
    }
    return texts;
  }

  /**
   * @param {string} by
   * @param {LiveSet} live
   * @returns {Row[]} in no order
   */
  sums(by, live) {
    const keyOf = this.grouping(by);
    /** @type {Map<string, Row>} */
    const rows = new Map();
    for (let i = 0; i < live.bytes.length; i++) {
      if (live.count[i] === 0 && live.bytes[i] === 0) continue;
      const key = keyOf(i);
      let row = rows.get(key);
      if (!row) {
        row = { key, bytes: 0, count: 0, line: this.columns.context_line[i], context: i, vias: new Map(),
          categories: new Float64Array(this.page.categories.length) };
        rows.set(key, row);
      }
      row.bytes += live.bytes[i];
      row.count += live.count[i];
      row.categories[this.numbers.category[i]] += live.bytes[i];
      const via = this.columns.context_via[i];
      row.vias.set(via, (row.vias.get(via) || 0) + live.bytes[i]);
    }
    return [...rows.values()];
  }

  /**
   * Levels by category of a live set.
   * @param {LiveSet} live
   */
  categories(live = this.now) {
    const levels = new Array(this.page.categories.length).fill(0);
    live.bytes.forEach((bytes, i) => (levels[this.numbers.category[i]] += bytes));
    return levels;
  }

  /**
   * The tree of a flame: whole stacks, the program's own frames, or another key first.
   * @param {string} mode
   * @param {boolean} inverted
   * @param {Float64Array} weights by context: siblings are ordered by it
   * @param {boolean} withNative with the native frames of the page
   */
  tree(mode, inverted, weights, withNative = true) {
    const { page, columns } = this;
    /** @type {any[]} */
    const names = page.frames.slice();
    /** @type {Map<string, number>} */
    const extra = new Map();
    const nameOf = (/** @type {string} */ text) => {
      let id = extra.get(text);
      if (id === undefined) {
        id = names.length;
        extra.set(text, id);
        names.push({ function: text, file: "", line: 0 });
      }
      return id;
    };
    let leftOut = new Set();
    const paths = [];
    for (let context = 0; context < columns.context_node.length; context++) {
      const leaf = columns.context_node[context];
      const path = [];
      for (let node = leaf; node; node = columns.node_parent[node]) {
        const frame = page.frames[columns.node_frame[node]];
        if (frame.is_native && !withNative) continue;
        const hidden = mode === "own" ? frame.file && !frame.is_users : frame.passes_on;
        if (hidden && (node !== leaf || mode === "own")) leftOut.add(columns.node_frame[node]);
        else path.push(columns.node_frame[node]);
      }
      if (!inverted) path.reverse();
      if (mode === "module") path.unshift(...this.grouping("layers")(context).split(".").map(nameOf));
      else if (this.keys.includes(mode)) path.unshift(nameOf(this.grouping(mode)(context)));
      paths.push({ path, context });
    }
    const tree = new Tree(paths, weights, { most: MOST_NODES, name: nameOf("other: the smallest ones") });
    return { tree, names, leftOut: leftOut.size };
  }
}
