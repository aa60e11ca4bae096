// @ts-check
// The tree of a flame: stacks as nodes in preorder. Nothing recurses: stacks may be any depth.

/** @typedef {{path: number[], context: number}} PathOfContext names from the root on */

export class Tree {
  /**
   * @param {PathOfContext[]} paths
   * @param {Float64Array} weights by context: siblings are ordered by what they hold then
   */
  constructor(paths, weights) {
    /** @type {{name: number, parent: number, weight: number, kids: Map<number, number>, contexts: number[]}[]} */
    const nodes = [{ name: 0, parent: -1, weight: 0, kids: new Map(), contexts: [] }];
    for (const { path, context } of paths) {
      let at = 0;
      nodes[0].weight += weights[context];
      for (const name of path) {
        let next = nodes[at].kids.get(name);
        if (next === undefined) {
          next = nodes.length;
          nodes[at].kids.set(name, next);
          nodes.push({ name, parent: at, weight: 0, kids: new Map(), contexts: [] });
        }
        nodes[next].weight += weights[context];
        at = next;
      }
      nodes[at].contexts.push(context);
    }
    this.count = nodes.length;
    this.name = new Uint32Array(this.count);
    this.parent = new Int32Array(this.count);
    this.depth = new Uint16Array(this.count);
    /** The first node behind a subtree. */
    this.end = new Uint32Array(this.count);
    /** By context; -1: none. */
    this.nodeOf = new Int32Array(weights.length).fill(-1);
    this.total = new Float64Array(this.count);
    this.self = new Float64Array(this.count);
    /** The category of all bytes of a subtree; -1: several, -2: none. */
    this.category = new Int16Array(this.count);
    /**
     * Of nodes that hold something themselves: bytes by category.
     * @type {Map<number, Map<number, number>>}
     */
    this.parts = new Map();
    this.lay(nodes);
  }

  /**
   * @param {{name: number, parent: number, weight: number, kids: Map<number, number>, contexts: number[]}[]} nodes
     */
  lay(nodes) {
    const place = new Int32Array(this.count);
    const stack = [0];
    let next = 0;
    while (stack.length) {
      const at = /** @type {number} */ (stack.pop());
      const node = nodes[at];
      place[at] = next;
      this.name[next] = node.name;
      this.parent[next] = node.parent < 0 ? -1 : place[node.parent];
      this.depth[next] = node.parent < 0 ? 0 : this.depth[this.parent[next]] + 1;
      for (const context of node.contexts) this.nodeOf[context] = next;
      next++;
      const kids = [...node.kids.values()].sort((a, b) => nodes[a].weight - nodes[b].weight);
      for (const kid of kids) stack.push(kid);
    }
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
      this.self[node] += bytes[i];
      this.mix(node, categoryOf[i]);
      const parts = this.parts.get(node) || new Map();
      parts.set(categoryOf[i], (parts.get(categoryOf[i]) || 0) + bytes[i]);
      this.parts.set(node, parts);
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
   */
  mix(node, category) {
    const own = this.category[node];
    this.category[node] = own === -2 || own === category ? category : -1;
  }

  /**
   * Nodes whose name is hit, without those below another one; with their sum.
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
