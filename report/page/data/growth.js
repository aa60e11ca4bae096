// @ts-check
// Growth: the level at the end of every step, and the difference of the live sets of two of them.
import { LiveSets } from "./live_sets.js";

export class Growth {
  /**
   * @param {any} page the JSON of the engine
   * @param {import("./columns.js").Columns} columns
   */
  constructor(page, columns) {
    this.facts = page.growth;
    this.count = columns.growth_tick.length;
    this.levels = columns.growth_level.map((one) => one * page.byte_unit);
    this.seconds = columns.growth_tick.map((tick) => tick * page.tick_seconds);
    this.steps = columns.growth_step;
    this.sets = new LiveSets(columns.context_node.length, page.byte_unit, { changes: columns.growth_changes,
      context: columns.growth_context, bytes: columns.growth_bytes, count: columns.growth_count });
  }

  /** Whether there are two ends to compare. */
  get isKnown() {
    return this.count > 1;
  }

  get hasSteps() {
    return this.facts.unit !== "time";
  }

  /**
   * The nearest sample that has its live set.
   * @param {number} sample
   */
  nearest(sample) {
    const last = this.count - 1;
    const near = Math.round(Math.min(last, Math.max(0, sample)) / this.facts.stride) * this.facts.stride;
    return near > last || last - sample < Math.abs(sample - near) ? last : near;
  }

  /**
   * The sample at the end of a step, or the one at a time.
   * @param {number} value
   */
  sampleAt(value) {
    const values = this.hasSteps ? this.steps : this.seconds;
    let low = 1;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < value) low = middle + 1;
      else high = middle;
    }
    return this.nearest(low);
  }

  /** @param {number} sample with a live set */
  setAt(sample) {
    return this.sets.at(Math.min(this.sets.momentCount - 1, Math.ceil(sample / this.facts.stride)));
  }

  /**
   * The bytes and blocks that every context gained from one sample to the other.
   * @param {number} from
   * @param {number} to
   */
  between(from, to) {
    const before = this.setAt(from);
    const after = this.setAt(to);
    return { bytes: after.bytes.map((one, i) => one - before.bytes[i]), count: after.count.map((one, i) => one - before.count[i]) };
  }

  /**
   * Steps, or seconds, from one sample to another.
   * @param {number} from
   * @param {number} to
   */
  distance(from, to) {
    if (!this.hasSteps) return this.seconds[to] - this.seconds[from];
    // The first sample is at the begin of the first step.
    const number = (/** @type {number} */ sample) => (sample === 0 ? this.steps[0] : this.steps[sample] + 1);
    return number(to) - number(from);
  }
}
