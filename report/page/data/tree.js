// @ts-check
// The tree of a flame: stacks as nodes in preorder. Nothing recurses: stacks may be any depth.

/** @typedef {{path: number[], context: number}} PathOfContext names from the root on */

// More nodes make the page slow, and are narrower than a pixel.
export const MOST_NODES = 500000;

/** The nodes of a tree while it grows: parents before their children. */
class Nodes {
  constructor() {
    this.name = [0];
    this.parent = [-1];
    this.weight = [0];
    /** @type {number[]} by context */
    this.nodeOf = [];
    /** @type {Map<number, number>} by parent and name */
    this.known = new Map();
  }

  /**
   * @param {number} parent
   * @param {number} name
   */
  child(parent, name) {
    const key = parent * 2 ** 26 + name;
    let node = this.known.get(key);
    if (node === undefined) {
      node = this.name.length;
      this.known.set(key, node);
      this.name.push(name);
      this.parent.push(parent);
      this.weight.push(0);
    }
    return node;
  }

  /**
   * Keeps `most` nodes at most, the heaviest: all nodes dropped below one node become one child of
   * it, `otherName`. Parents are no lighter than their children and have lower ids, so a node that
   * is kept has its callers.
   * @param {number} most
   * @param {number} otherName
   * @returns {{nodes: Nodes, dropped: number}}
   */
  limited(most, otherName) {
    const count = this.name.length;
    if (count <= most) return { nodes: this, dropped: 0 };
    const order = Uint32Array.from(this.name, (_, i) => i).sort((a, b) => this.weight[b] - this.weight[a] || a - b);
    const rank = new Uint32Array(count);
    order.forEach((node, i) => (rank[node] = i));
    let kept = most;
    for (;;) {
      const parents = new Set();
      for (let i = 1; i < count; i++) if (rank[i] >= kept && rank[this.parent[i]] < kept) parents.add(this.parent[i]);
      const excess = kept + parents.size - most;
      if (excess <= 0 || kept === 1) break;
      kept = Math.max(1, kept - excess);
    }
    const nodes = new Nodes();
    const place = new Uint32Array(count);
    nodes.weight[0] = this.weight[0];
    for (let i = 1; i < count; i++) {
      const up = place[this.parent[i]];
      const isTop = rank[this.parent[i]] < kept;
      if (rank[i] < kept) place[i] = nodes.child(up, this.name[i]);
      else place[i] = isTop ? nodes.child(up, otherName) : up;
      if (isTop) nodes.weight[place[i]] += this.weight[i];
    }
    this.nodeOf.forEach((node, context) => (nodes.nodeOf[context] = place[node]));
    return { nodes, dropped: count - kept };
  }

  /** Children of node i are kids[begin[i]] to kids[begin[i + 1]], the heaviest first. */
  sortedKids() {
    const count = this.name.length;
    const begin = new Uint32Array(count + 1);
    for (let i = 1; i < count; i++) begin[this.parent[i] + 1]++;
    for (let i = 0; i < count; i++) begin[i + 1] += begin[i];
    const free = begin.slice();
    const kids = new Uint32Array(Math.max(0, count - 1));
    for (let i = 1; i < count; i++) kids[free[this.parent[i]]++] = i;
    for (let i = 0; i < count; i++) {
      if (begin[i + 1] - begin[i] > 1) {
        kids.subarray(begin[i], begin[i + 1]).sort((a, b) => this.weight[b] - this.weight[a] || a - b);
      }
    }
    return { begin, kids };
  }
}

export class Tree {
  /**
   * @param {PathOfContext[]} paths
   * @param {Float64Array} weights by context: they give the order of siblings
   * @param {{most: number, name: number}} [limit] of nodes; the name of those that are joined
   */
  constructor(paths, weights, limit = { most: MOST_NODES, name: 0 }) {
    const all = new Nodes();
    for (const { path, context } of paths) {
      let at = 0;
      all.weight[0] += weights[context];
      for (const name of path) {
        at = all.child(at, name);
        all.weight[at] += weights[context];
      }
      all.nodeOf[context] = at;
    }
    const { nodes, dropped } = all.limited(limit.most, limit.name);
    /** How many nodes are in "other" ones. */
    this.joined = dropped;
    this.count = nodes.name.length;
    this.name = new Uint32Array(this.count);
    this.parent = new Int32Array(this.count);
    this.depth = new Uint32Array(this.count);
    /** The first node behind a subtree. */
    this.end = new Uint32Array(this.count);
    /** By context; -1: none. */
    this.nodeOf = new Int32Array(weights.length).fill(-1);
    this.total = new Float64Array(this.count);
    this.self = new Float64Array(this.count);
    /** The category of all bytes of a subtree; -1: several, -2: none. */
    this.category = new Int16Array(this.count);
    /**
     * Bytes by category, for nodes that hold several categories themselves.
     * @type {Map<number, Map<number, number>>}
     */
    this.parts = new Map();
    this.lay(nodes);
  }

  /**
   * Puts nodes in preorder, siblings by weight.
   * @param {Nodes} nodes
   */
  lay(nodes) {
    const { begin, kids } = nodes.sortedKids();
    const place = new Int32Array(this.count);
    const stack = [0];
    let next = 0;
    while (stack.length) {
      const at = /** @type {number} */ (stack.pop());
      place[at] = next;
      this.name[next] = nodes.name[at];
      this.parent[next] = at === 0 ? -1 : place[nodes.parent[at]];
      this.depth[next] = at === 0 ? 0 : this.depth[this.parent[next]] + 1;
      next++;
      for (let i = begin[at + 1] - 1; i >= begin[at]; i--) stack.push(kids[i]);
    }
    nodes.nodeOf.forEach((node, context) => (this.nodeOf[context] = place[node]));
    for (let i = this.count - 1; i >= 0; i--) {
      this.end[i] = Math.max(this.end[i], i + 1);
      const up = this.parent[i];
      if (up >= 0) this.end[up] = Math.max(this.end[up], this.end[i]);
    }
  }

  /**
   * @param {Float64Array} bytes by context
   * @param {Float64Array} categoryOf by context
   */
  measure(bytes, categoryOf) {
    this.total.fill(0);
    this.self.fill(0);
    this.category.fill(-2);
    this.parts.clear();
    for (let i = 0; i < bytes.length; i++) {
      const node = this.nodeOf[i];
      if (bytes[i] === 0 || node < 0) continue;
      this.split(node, categoryOf[i], bytes[i]);
      this.self[node] += bytes[i];
      this.mix(node, categoryOf[i]);
    }
    for (let i = this.count - 1; i >= 0; i--) {
      this.total[i] += this.self[i];
      const up = this.parent[i];
      if (up < 0 || this.total[i] === 0) continue;
      this.total[up] += this.total[i];
      this.mix(up, this.category[i]);
    }
  }

  /**
   * @param {number} node
   * @param {number} category
   * @param {number} bytes not yet part of the node
   */
  split(node, category, bytes) {
    const own = this.category[node];
    if (own === -2 || own === category) return;
    const parts = this.parts.get(node) || new Map([[own, this.self[node]]]);
    parts.set(category, (parts.get(category) || 0) + bytes);
    this.parts.set(node, parts);
  }

  /**
   * @param {number} node
   * @param {number} category
   */
  mix(node, category) {
    const own = this.category[node];
    this.category[node] = own === -2 || own === category ? category : -1;
  }

  /**
   * Nodes with a hit name, without those below another one; with their sum.
   * @param {Uint8Array} hits by name
   */
  find(hits) {
    let bytes = 0;
    let count = 0;
    for (let i = 0; i < this.count; ) {
      if (hits[this.name[i]] && this.total[i] > 0) {
        bytes += this.total[i];
        count++;
        i = this.end[i];
      } else i++;
    }
    return { bytes, count };
  }
}
