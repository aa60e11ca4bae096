// @ts-check
// Live sets as differences from one to the next, and a whole set now and then: at the highest moment
// of every bucket, or at the ends of steps.

// A whole set every 64 moments, or fewer where they would take more memory than this.
const KEYFRAME_EVERY = 64;
const KEYFRAME_BYTES = 64e6;

export class LiveSets {
  /**
   * @param {number} contextCount
   * @param {number} unit bytes
   * @param {Record<"changes" | "context" | "bytes" | "count", Float64Array>} columns `changes`: their number, by moment
   */
  constructor(contextCount, unit, { changes, context, bytes, count }) {
    this.contextCount = contextCount;
    this.momentCount = changes.length;
    this.context = context;
    this.bytesMore = bytes.map((one) => one * unit);
    this.countMore = count;
    /** First change of a moment. */
    this.begin = new Float64Array(this.momentCount + 1);
    for (let i = 0; i < this.momentCount; i++) this.begin[i + 1] = this.begin[i] + changes[i];
    const most = KEYFRAME_BYTES / (16 * Math.max(1, this.contextCount));
    this.every = Math.max(KEYFRAME_EVERY, Math.ceil(this.momentCount / most));
    /** @type {{bytes: Float64Array, count: Float64Array}[]} before moment 0, `every`, ... */
    this.keyframes = [];
    const now = this.empty();
    for (let i = 0; i < this.momentCount; i++) {
      if (i % this.every === 0) this.keyframes.push({ bytes: now.bytes.slice(), count: now.count.slice() });
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
    const frame = Math.floor(moment / this.every);
    const live = { bytes: this.keyframes[frame].bytes.slice(), count: this.keyframes[frame].count.slice() };
    for (let i = frame * this.every; i <= moment; i++) this.apply(live, i);
    return live;
  }
}
