// @ts-check
// The icicle: stacks from the root down, as wide as their memory. Drawn on a canvas, only the part that is
// at least half a pixel wide.
import { fitText, sizeCanvas } from "../elements/dom.js";

const ROW = 21;
const MAX_ROWS = 500;

export class Flame {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("../data/tree.js").Tree} tree
   * @param {any[]} names
   */
  constructor(canvas, tree, names) {
    this.canvas = canvas;
    this.tree = tree;
    this.names = names;
    this.root = 0;
    this.current = 0;
    /** @type {Uint8Array | null} by name: found */
    this.hits = null;
    /** @type {{node: number, left: number, right: number, row: number}[]} */
    this.boxes = [];
  }

  /** @param {number} node */
  labelOf(node) {
    const { function: text, file, line } = this.names[this.tree.name[node]];
    const short = file ? file.split("/").slice(-2).join("/") + (line ? ":" + line : "") : "";
    return { text: text || short, place: text ? short : "" };
  }

  /**
   * The visible boxes, without recursion.
   * @param {number} width
   */
  lay(width) {
    const { tree } = this;
    this.boxes = [];
    const total = tree.total[this.root];
    if (!total) return;
    let base = 0;
    for (let up = this.root; up > 0; up = tree.parent[up]) base++;
    for (let up = this.root, row = base; row >= 0; up = tree.parent[up], row--) {
      this.boxes.push({ node: up, left: 0, right: width, row });
    }
    const next = new Float64Array(MAX_ROWS + 1);
    const scale = width / total;
    for (let i = this.root + 1; i < tree.end[this.root]; ) {
      const row = tree.depth[i];
      const size = tree.total[i] * scale;
      if (row >= MAX_ROWS || size < 0.5) {
        if (row < MAX_ROWS) next[row] += size;
        i = tree.end[i];
        continue;
      }
      const left = next[row];
      this.boxes.push({ node: i, left, right: left + size, row });
      next[row] = left + size;
      if (row + 1 <= MAX_ROWS) next[row + 1] = left;
      i++;
    }
  }

  /** @param {any} colours */
  draw(colours) {
    const width = this.canvas.clientWidth;
    this.lay(width);
    const rows = this.boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
    const { pen } = sizeCanvas(this.canvas, rows * ROW + 2);
    for (const box of this.boxes) this.drawBox(pen, box, colours);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {{node: number, left: number, right: number, row: number}} box
   * @param {any} colours
   */
  drawBox(pen, box, colours) {
    const { tree } = this;
    const { node, left, right, row } = box;
    const category = tree.category[node];
    const solid = category >= 0 && tree.self[node] > 0;
    const hit = this.hits !== null && this.hits[tree.name[node]] === 1;
    const y = row * ROW;
    const size = Math.max(0.5, right - left - (right - left > 3 ? 1 : 0));
    pen.globalAlpha = this.hits !== null && !hit ? 0.45 : 1;
    pen.fillStyle = hit ? colours.hit : category >= 0 ? colours.fill[category] : colours.frame;
    if (!hit && category >= 0 && !solid) {
      pen.globalAlpha *= 0.3;
    }
    pen.fillRect(left, y, size, ROW - 1);
    const isSplit = !hit && tree.parts.has(node) && tree.self[node] === tree.total[node];
    if (isSplit) this.drawParts(pen, node, { left, y, size }, colours);
    pen.globalAlpha = this.hits !== null && !hit ? 0.6 : 1;
    if (right - left > 26) {
      const { text, place } = this.labelOf(node);
      pen.fillStyle = hit ? colours.hitText : solid ? colours.on[category] : isSplit ? colours.on[this.largestPart(node)] : colours.text;
      const shown = fitText(pen, text, right - left - 10);
      pen.fillText(shown, left + 5, y + ROW / 2);
      const used = pen.measureText(shown).width;
      if (place && shown === text && right - left - used > 60) {
        pen.globalAlpha *= 0.72;
        pen.fillText(fitText(pen, place, right - left - used - 24), left + used + 16, y + ROW / 2);
      }
    }
    pen.globalAlpha = 1;
    if (node === this.current && document.activeElement === this.canvas) {
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, y + 1, Math.max(1, size - 2), ROW - 3);
      pen.lineWidth = 1;
    }
  }

  /**
   * A leaf of several categories: each in its colour.
   * @param {CanvasRenderingContext2D} pen
   * @param {number} node
   * @param {{left: number, y: number, size: number}} box
   * @param {any} colours
   */
  drawParts(pen, node, box, colours) {
    const parts = [.../** @type {Map<number, number>} */ (this.tree.parts.get(node))].sort((a, b) => b[1] - a[1]);
    let x = box.left;
    for (const [category, bytes] of parts) {
      const size = (bytes / this.tree.total[node]) * box.size;
      pen.fillStyle = colours.fill[category];
      pen.fillRect(x, box.y, size, ROW - 1);
      x += size;
    }
  }

  /**
   * Where the text begins.
   * @param {number} node
   */
  largestPart(node) {
    const parts = [.../** @type {Map<number, number>} */ (this.tree.parts.get(node))];
    return parts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
  }

  /**
   * The node under a pointer; -1: none.
   * @param {{clientX: number, clientY: number}} at
   */
  nodeAt(at) {
    const place = this.canvas.getBoundingClientRect();
    const x = at.clientX - place.left;
    const row = Math.floor((at.clientY - place.top) / ROW);
    const box = this.boxes.find((one) => one.row === row && one.left <= x && x < one.right);
    return box ? box.node : -1;
  }

  /**
   * Marks names that hold a text.
   * @param {string} text
   */
  search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) {
      this.hits = null;
      return { bytes: 0, count: 0 };
    }
    this.hits = Uint8Array.from(this.names, (one) =>
      `${one.function} ${one.file}:${one.line}`.toLowerCase().includes(wanted) ? 1 : 0);
    return this.tree.find(this.hits);
  }

  /**
   * Walks with the arrow keys.
   * @param {string} key
   */
  walk(key) {
    const { tree } = this;
    const at = this.current;
    if (key === "ArrowUp" && tree.parent[at] >= 0) this.current = tree.parent[at];
    if (key === "ArrowDown") this.current = this.firstShown(at + 1, tree.end[at], at);
    if (key === "ArrowRight" && at > 0) this.current = this.firstShown(tree.end[at], tree.end[tree.parent[at]], at);
    if (key === "ArrowLeft" && at > 0) {
      for (let i = tree.parent[at] + 1; i < at; i = tree.end[i]) if (tree.total[i] > 0) this.current = i;
    }
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {number} otherwise
   */
  firstShown(from, to, otherwise) {
    for (let i = from; i < to; i = this.tree.end[i]) if (this.tree.total[i] > 0) return i;
    return otherwise;
  }
}
