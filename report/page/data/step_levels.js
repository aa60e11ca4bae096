// @ts-check
// The levels of the compared files by step, on one axis. A slot of the axis is the time before the
// first step, a step, or the time after the last one; a range of a file is one slot, or several
// steps of a long run.

/**
 * @typedef {{unit: string, one: string, steps: number[], end_step: number, parts_per_step: number, peaks: number[],
 *   peak_seconds: number[], keys?: string[], groups: number[], changes: number[][]}} LevelsOfFile
 */

export class StepLevels {
  /**
   * @param {LevelsOfFile} facts
   * @param {string[]} texts of the page
   */
  constructor(facts, texts) {
    this.facts = facts;
    this.texts = texts;
    this.parts = facts.parts_per_step;
    /** Number of ranges. */
    this.count = facts.steps.length + 2;
    /** Whether it has rows at every step. */
    this.hasRows = facts.keys !== undefined;
  }

  /**
   * The range of a slot; -1: this file has no such step.
   * @param {number} slot
   * @param {StepAxis} axis
   */
  rangeOf(slot, axis) {
    if (slot === 0) return 0;
    if (slot === axis.count - 1) return this.count - 1;
    const { steps, end_step: end } = this.facts;
    const step = axis.first + slot - 1;
    return !steps.length || step < steps[0] || step >= end ? -1 : steps.findLastIndex((one) => one <= step) + 1;
  }

  /**
   * Bytes and seconds of the highest moment of a range, the earliest of equal ones.
   * @param {number} range
   */
  peakOf(range) {
    const { peaks, peak_seconds: seconds } = this.facts;
    let best = range * this.parts;
    for (let part = best + 1; part < (range + 1) * this.parts; part++) if (peaks[part] > peaks[best]) best = part;
    return { bytes: peaks[best], seconds: seconds[best] };
  }

  /**
   * Bytes by the texts of a key at the highest moment of a range.
   * @param {number} range
   * @param {string} by
   * @param {(text: string) => string} nameOf
   */
  rowsAt(range, by, nameOf) {
    const { groups, changes, keys = [] } = this.facts;
    /** @type {Map<string, number>} */
    const rows = new Map();
    const at = keys.indexOf(by);
    for (let i = 0; i <= range; i++) {
      for (let j = 0; j < changes[i].length; j += 2) {
        const name = nameOf(this.texts[groups[changes[i][j] * keys.length + at]]);
        rows.set(name, (rows.get(name) || 0) + changes[i][j + 1]);
      }
    }
    for (const [name, bytes] of rows) if (bytes === 0) rows.delete(name);
    return rows;
  }
}

export class StepAxis {
  /** @param {StepLevels[]} runs */
  constructor(runs) {
    const steps = runs.filter(({ facts }) => facts.steps.length);
    /** The first step of any, and the one behind the last. */
    this.first = steps.length ? Math.min(...steps.map(({ facts }) => facts.steps[0])) : 0;
    this.end = steps.length ? Math.max(...steps.map(({ facts }) => facts.end_step)) : 0;
    /** Number of slots. */
    this.count = this.end - this.first + 2;
    this.one = runs[0].facts.one;
  }

  /** @param {number} slot */
  nameOf(slot) {
    if (slot === 0) return `before ${this.one} ${this.first}`;
    if (slot === this.count - 1) return this.end > this.first ? `after ${this.one} ${this.end - 1}` : "the whole run";
    return `${this.one} ${this.first + slot - 1}`;
  }

  /**
   * The word of a slot in the address, and back.
   * @param {number} slot
   */
  wordOf(slot) {
    return slot === 0 ? "before" : slot === this.count - 1 ? "after" : String(this.first + slot - 1);
  }

  /** @param {string} word; -1: none */
  slotOf(word) {
    if (word === "before") return 0;
    if (word === "after") return this.count - 1;
    const slot = /^\d+$/.test(word) ? Number(word) - this.first + 1 : -1;
    return slot > 0 && slot < this.count - 1 ? slot : -1;
  }
}
