// @ts-check
// Torch's segments and blocks as changes: the state after any of them, by walking there and back.

/** As MapChangeKind of report/views/page/page_map.h has them. */
const BLOCK = 1, BLOCK_WAITS = 2, BLOCK_GONE = 3, PIECE = 4, PIECE_GONE = 5, POOL_USED = 6;
export const LIVE = 1;
export const WAITING = 2;

/**
 * `from`, `to`: its blocks in `blocks` of the state. `unit`: the part that is mapped by itself, 0: all of it.
 * @typedef {{address: number, bytes: number, unit: number, pool: number, isPoolUsed: boolean, stream: number,
 *   isExpandable: boolean, from: number, to: number}} Segment
 * `blocks`: ids by address; `waiting`: 1 for each that is freed but still in use by another stream.
 * @typedef {{change: number, segments: Segment[], blocks: Uint32Array, waiting: Uint8Array, outsideBytes: number,
 *   outsideCount: number}} AllocatorState
 * @typedef {{kind: string, number: number, seconds: number, change: number, ledger: any}} MapMoment
 */

export class AllocatorHistory {
  /**
   * @param {any} page
   * @param {import("./columns.js").Columns} columns
   */
  constructor(page, columns) {
    this.columns = columns;
    this.pools = page.map.pools;
    this.hasEveryEvent = page.map.has_every_event;
    this.first = page.map.first_change;
    /** @type {MapMoment[]} */
    this.moments = page.map.moments;
    this.kind = Uint8Array.from(columns.map_change);
    this.changeCount = this.kind.length;
    this.tick = columns.map_tick;
    this.blockState = new Uint8Array(columns.block_bytes.length);
    this.hasPiece = new Uint8Array(columns.piece_bytes.length);
    this.isPoolUsed = new Uint8Array(this.pools.length);
    this.blocksByAddress = sortedBy(columns.block_address);
    this.piecesByAddress = sortedBy(columns.piece_address);
    this.hasWaited = new Uint8Array(this.blockState.length);
    this.id = this.number();
    /** The number of changes in the state above. */
    this.now = 0;
  }

  /** The block, piece or pool of each change. */
  number() {
    const { kind, columns } = this;
    const ids = new Uint32Array(this.changeCount);
    let blocks = 0;
    let pieces = 0;
    for (let i = 0; i < this.changeCount; i++) {
      if (kind[i] === BLOCK) blocks++;
      if (kind[i] === PIECE) pieces++;
      const back = columns.map_back[i];
      ids[i] = kind[i] <= BLOCK_GONE ? blocks - 1 - back : kind[i] <= PIECE_GONE ? pieces - 1 - back : back;
      if (kind[i] === BLOCK_WAITS) this.hasWaited[ids[i]] = 1;
    }
    return ids;
  }

  /**
   * The number of changes until a time, on a page with every event.
   * @param {number} tick
   */
  changeAt(tick) {
    let low = this.first;
    let high = this.changeCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tick[middle] <= tick) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param {number} change */
  walk(change) {
    for (; this.now < change; this.now++) this.apply(this.now, true);
    for (; this.now > change; ) this.apply(--this.now, false);
  }

  /**
   * @param {number} i
   * @param {boolean} forward
   */
  apply(i, forward) {
    const id = this.id[i];
    const kind = this.kind[i];
    if (kind === BLOCK) this.blockState[id] = forward ? LIVE : 0;
    else if (kind === BLOCK_WAITS) this.blockState[id] = forward ? WAITING : LIVE;
    else if (kind === BLOCK_GONE) this.blockState[id] = forward ? 0 : this.hasWaited[id] ? WAITING : LIVE;
    else if (kind <= PIECE_GONE) this.hasPiece[id] = (kind === PIECE) === forward ? 1 : 0;
    else this.isPoolUsed[id] = (kind === POOL_USED) === forward ? 1 : 0;
  }

  /**
   * @param {number} change how many of them have happened
   * @returns {AllocatorState}
   */
  at(change) {
    this.walk(change);
    const segments = this.joined();
    const blocks = new Uint32Array(this.blockState.length);
    let count = 0;
    for (const block of this.blocksByAddress) if (this.blockState[block]) blocks[count++] = block;
    const state = { change, segments, blocks: blocks.subarray(0, count), waiting: new Uint8Array(count), outsideBytes: 0, outsideCount: 0 };
    this.share(state);
    for (let i = 0; i < state.blocks.length; i++) state.waiting[i] = this.blockState[state.blocks[i]] === WAITING ? 1 : 0;
    return state;
  }

  /** Neighbouring pieces of an expandable segment are one. */
  joined() {
    const { columns } = this;
    /** @type {Segment[]} */
    const segments = [];
    for (const piece of this.piecesByAddress) {
      if (!this.hasPiece[piece]) continue;
      const last = segments[segments.length - 1];
      const address = columns.piece_address[piece];
      const pool = columns.piece_pool[piece];
      const stream = columns.piece_stream[piece];
      const unit = columns.piece_unit[piece];
      const isExpandable = columns.piece_expandable[piece] === 1;
      if (last && last.isExpandable && isExpandable && last.address + last.bytes === address && last.stream === stream &&
        last.pool === this.pools[pool] && last.unit === unit) last.bytes += columns.piece_bytes[piece];
      else {
        segments.push({ address, bytes: columns.piece_bytes[piece], unit, pool: this.pools[pool],
          isPoolUsed: this.isPoolUsed[pool] === 1, stream, isExpandable, from: 0, to: 0 });
      }
    }
    return segments;
  }

  /**
   * Gives every segment its blocks; those in none, and in damaged traces those above another, are left out.
   * @param {AllocatorState} state
   */
  share(state) {
    const { columns } = this;
    let kept = 0;
    let at = 0;
    for (const segment of state.segments) {
      let free = segment.address;
      const end = segment.address + segment.bytes;
      segment.from = kept;
      for (; at < state.blocks.length && columns.block_address[state.blocks[at]] < end; at++) {
        const block = state.blocks[at];
        const address = columns.block_address[block];
        if (address >= free && address + columns.block_bytes[block] <= end) {
          state.blocks[kept++] = block;
          free = address + columns.block_bytes[block];
        } else this.leaveOut(state, block);
      }
      segment.to = kept;
    }
    for (; at < state.blocks.length; at++) this.leaveOut(state, state.blocks[at]);
    state.blocks = state.blocks.subarray(0, kept);
  }

  /**
   * @param {AllocatorState} state
   * @param {number} block
   */
  leaveOut(state, block) {
    state.outsideBytes += this.columns.block_bytes[block];
    state.outsideCount++;
  }
}

/** @param {Float64Array} numbers */
function sortedBy(numbers) {
  return Uint32Array.from(numbers.keys()).sort((a, b) => numbers[a] - numbers[b] || a - b);
}
