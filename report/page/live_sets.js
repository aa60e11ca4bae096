// @ts-check
// What was live at the highest moment of every bucket: differences, and a whole set now and then.

const KEYFRAME_EVERY = 64;

export class LiveSets {
  /**
   * @param {import("./columns.js").Columns} columns
   * @param {number} unit bytes
   */
  constructor(columns, unit) {
    this.contextCount = columns.context_node.length;
    this.momentCount = columns.moment_changes.length;
    this.context = columns.change_context;
    this.bytesMore = columns.change_bytes.map((one) => one * unit);
    this.countMore = columns.change_count;
    /** First change of a moment. */
    this.begin = new Float64Array(this.momentCount + 1);
    for (let i = 0; i < this.momentCount; i++) this.begin[i + 1] = this.begin[i] + columns.moment_changes[i];
    /** @type {{bytes: Float64Array, count: Float64Array}[]} before moment 0, 64, ... */
    this.keyframes = [];
    const now = this.empty();
    for (let i = 0; i < this.momentCount; i++) {
      if (i % KEYFRAME_EVERY === 0) this.keyframes.push({ bytes: now.bytes.slice(), count: now.count.slice() });
      this.apply(now, i);
    }
  }

  empty() {
    return { bytes: new Float64Array(this.contextCount), count: new Float64Array(this.contextCount) };
  }

  /**
   * @param {{bytes: Float64Array, count: Float64Array}} live
   * @param {number} moment
   */
  apply(live, moment) {
    for (let i = this.begin[moment]; i < this.begin[moment + 1]; i++) {
      live.bytes[this.context[i]] += this.bytesMore[i];
      live.count[this.context[i]] += this.countMore[i];
    }
  }

  /**
   * Bytes and blocks by context.
   * @param {number} moment
   */
  at(moment) {
    const frame = Math.floor(moment / KEYFRAME_EVERY);
    const live = { bytes: this.keyframes[frame].bytes.slice(), count: this.keyframes[frame].count.slice() };
    for (let i = frame * KEYFRAME_EVERY; i <= moment; i++) this.apply(live, i);
    return live;
  }
}
