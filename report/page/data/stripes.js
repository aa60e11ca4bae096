// @ts-check
// The timeline block by block: of every column the blocks that are large enough to be seen, in the
// layer of their category (or line, module), the oldest below. A layer above its stripes is the exact
// rest: its smaller blocks.

/** @typedef {{bytes: ArrayLike<number>, made: ArrayLike<number>, lived: ArrayLike<number>, layerOf: (block: number) => number}} Blocks */

export class Stripes {
  /**
   * @param {Blocks} blocks in the order in which they were made; `lived` 0: not freed
   * @param {number[]} events of the columns, which never fall: those made up to then are there
   * @param {(column: number) => number[]} partsOf bytes of the layers
   * @param {number} least bytes of a block that is shown
   */
  constructor(blocks, events, partsOf, least) {
    this.blocks = blocks;
    this.least = least;
    /** First stripe of every column. */
    this.begin = new Uint32Array(events.length + 1);
    /** @type {number[]} */
    this.block = [];
    /** @type {number[]} bytes below a stripe */
    this.low = [];
    /** @type {number[]} */
    this.high = [];
    /** @type {number[]} */
    this.layer = [];
    /** @type {number[][]} by layer */
    const live = [];
    let next = 0;
    events.forEach((event, column) => {
      for (let layer = 0; layer < live.length; layer++) live[layer] = live[layer].filter((block) => this.livesAt(block, event));
      for (; next < blocks.made.length && blocks.made[next] <= event; next++) {
        if (blocks.bytes[next] < least || !this.livesAt(next, event)) continue;
        const layer = blocks.layerOf(next);
        while (live.length <= layer) live.push([]);
        live[layer].push(next);
      }
      this.stack(live, partsOf(column));
      this.begin[column + 1] = this.block.length;
    });
  }

  /**
   * @param {number} block
   * @param {number} event not before it was made
   */
  livesAt(block, event) {
    const { made, lived } = this.blocks;
    return lived[block] === 0 || made[block] + lived[block] > event;
  }

  /**
   * Never above the height of a layer, which is that of the nearest moment that a page keeps.
   * @param {number[][]} live
   * @param {number[]} parts
   */
  stack(live, parts) {
    let base = 0;
    parts.forEach((bytes, layer) => {
      let low = base;
      base += bytes;
      for (const block of live[layer] || []) {
        const high = Math.min(base, low + this.blocks.bytes[block]);
        if (high <= low) break;
        this.block.push(block);
        this.low.push(low);
        this.high.push(high);
        this.layer.push(layer);
        low = high;
      }
    });
  }

  /**
   * The stripe at a height; -1: none.
   * @param {number} column
   * @param {number} bytes
   */
  at(column, bytes) {
    for (let i = this.begin[column]; i < this.begin[column + 1]; i++) if (this.low[i] <= bytes && bytes < this.high[i]) return i;
    return -1;
  }

  /**
   * The stripes of a block: of every column where it is drawn, one.
   * @param {number} block
   * @returns {{column: number, stripe: number}[]}
   */
  ofBlock(block) {
    const found = [];
    for (let column = 0; column + 1 < this.begin.length; column++) {
      for (let stripe = this.begin[column]; stripe < this.begin[column + 1]; stripe++) {
        if (this.block[stripe] === block) found.push({ column, stripe });
      }
    }
    return found;
  }

  /** Number of blocks that are drawn. */
  get shownCount() {
    return new Set(this.block).size;
  }
}
