// @ts-check
// The blocks of the run one by one: those that are live at a moment, and when they came and went.

export class Tensors {
  /**
   * @param {any} page the JSON of the engine
   * @param {import("./columns.js").Columns} columns
   */
  constructor(page, columns) {
    this.facts = page.tensors;
    this.columns = columns;
    this.tick = page.tick_seconds;
    this.end = page.end_tick * page.tick_seconds;
    this.count = columns.tensor_made.length;
    this.bytes = columns.tensor_bytes.map((one) => one * page.byte_unit);
  }

  /**
   * The blocks that are live at the highest moment of a point, the largest first.
   * @param {number} point
   */
  liveAt(point) {
    const { columns } = this;
    const [made, lived, events] = [columns.tensor_made, columns.tensor_lived, columns.point_peak_event];
    const event = events[point];
    const found = [];
    for (let i = 0; i < this.count && made[i] <= event; i++) {
      if (lived[i] === 0 || made[i] + lived[i] > event) found.push(i);
    }
    return found.sort((a, b) => this.bytes[b] - this.bytes[a] || a - b);
  }

  /**
   * Begin and end of a block as shares of the run, whose events are all as long.
   * @param {number} block
   */
  lifeOf(block) {
    const { columns } = this;
    const [made, lived, events] = [columns.tensor_made, columns.tensor_lived, columns.point_peak_event];
    const first = events[0];
    const whole = Math.max(1, events[events.length - 1] - first);
    const shareOf = (/** @type {number} */ event) => Math.min(1, Math.max(0, (event - first) / whole));
    return [shareOf(made[block]), lived[block] ? shareOf(made[block] + lived[block]) : 1];
  }

  /**
   * Seconds at which a block was made; null: before the part of the run that the page shows.
   * @param {number} block
   */
  madeAt(block) {
    const made = this.columns.tensor_made[block];
    if (made < this.columns.point_peak_event[0]) return null;
    const ticks = this.columns.tensor_made_tick;
    return ticks.length ? ticks[block] * this.tick : this.secondsOf(made);
  }

  /**
   * Seconds at which it was freed; null: it is still live at the end.
   * @param {number} block
   */
  freedAt(block) {
    const { columns } = this;
    const lived = columns.tensor_lived[block];
    if (lived === 0) return null;
    const ticks = columns.tensor_made_tick;
    return ticks.length ? (ticks[block] + columns.tensor_lived_ticks[block]) * this.tick : this.secondsOf(columns.tensor_made[block] + lived);
  }

  /**
   * Seconds at which autograd saved it for a backward pass; null: it did not, or that is not recorded.
   * @param {number} block
   */
  savedAt(block) {
    return this.savedBy(block) ? this.columns.tensor_saved_tick[block] * this.tick : null;
  }

  /**
   * The operator that saved it; empty: as savedAt().
   * @param {number} block
   */
  savedBy(block) {
    const savers = this.columns.tensor_saved_by;
    return savers.length ? this.facts.savers[savers[block]] : "";
  }

  /**
   * The time of an event, where every event is a point.
   * @param {number} event
   */
  secondsOf(event) {
    const { columns } = this;
    const events = columns.point_peak_event;
    let low = 0;
    let high = events.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle] < event) low = middle + 1;
      else high = middle;
    }
    return (columns.point_begin[low] + columns.point_peak_offset[low]) * this.tick;
  }

  /**
   * "float32 [50257, 768]"; empty: not known.
   * @param {number} block
   */
  typeOf(block) {
    const { dtype, shape } = this.facts.types[this.columns.tensor_type[block]];
    return dtype ? `${dtype} [${shape.join(", ")}]` : "";
  }

  /** @param {number} block */
  nameOf(block) {
    return this.facts.names[this.columns.tensor_name[block]];
  }

  /** @param {number} block */
  freedBy(block) {
    return this.facts.freed_by[this.columns.tensor_freed_by[block]] || "";
  }
}
