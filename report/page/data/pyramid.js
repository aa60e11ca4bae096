// @ts-check
// The highest and the lowest of any range of points, in a few steps: parents come from children, so
// every zoom level is exact.

export class Pyramid {
  /**
   * @param {Float64Array} high
   * @param {Float64Array} low
   * @param {Float64Array} traced 1: counts before 0
   */
  constructor(high, low, traced) {
    this.high = high;
    this.traced = traced;
    this.count = high.length;
    /** @type {Uint32Array[]} of each level, the point that is highest */
    this.highest = [Uint32Array.from(high, (_, i) => i)];
    /** @type {Float64Array[]} */
    this.lowest = [low];
    while (this.highest[this.highest.length - 1].length > 1) this.addLevel();
  }

  addLevel() {
    const below = this.highest[this.highest.length - 1];
    const lowBelow = this.lowest[this.lowest.length - 1];
    const size = Math.ceil(below.length / 2);
    const highest = new Uint32Array(size);
    const lowest = new Float64Array(size);
    for (let i = 0; i < size; i++) {
      const second = Math.min(2 * i + 1, below.length - 1);
      highest[i] = this.higher(below[2 * i], below[second]);
      lowest[i] = Math.min(lowBelow[2 * i], lowBelow[second]);
    }
    this.highest.push(highest);
    this.lowest.push(lowest);
  }

  /**
   * The higher of two points, the earlier of equal ones.
   * @param {number} a
   * @param {number} b
   */
  higher(a, b) {
    if (this.traced[a] !== this.traced[b]) return this.traced[a] ? a : b;
    if (this.high[a] !== this.high[b]) return this.high[a] > this.high[b] ? a : b;
    return Math.min(a, b);
  }

  /**
   * The highest point of from..to-1, and their lowest level.
   * @param {number} from
   * @param {number} to
   */
  range(from, to) {
    let best = from;
    let low = this.lowest[0][from];
    for (let level = 0, a = from, b = to; a < b; level++, a = Math.ceil(a / 2), b = Math.floor(b / 2)) {
      if (a % 2) {
        best = this.higher(best, this.highest[level][a]);
        low = Math.min(low, this.lowest[level][a]);
      }
      if (b % 2) {
        best = this.higher(best, this.highest[level][b - 1]);
        low = Math.min(low, this.lowest[level][b - 1]);
      }
    }
    return { best, low };
  }
}
