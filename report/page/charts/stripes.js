// @ts-check
// Draws the blocks of a timeline as stripes, over its layers: pixel by pixel, because there may be
// half a million of them.
import { Stripes } from "../data/stripes.js";

const SHADES = [0, 0.1, 0.2];  // parts of the colour of text, so that neighbours differ
const EDGE = 0.6;  // part of the background in the line between two stripes
const LEAST_FOR_EDGE = 3;  // pixels

/** @typedef {import("./timeline.js").Timeline} Timeline */

/**
 * @param {string} colour "rgb(1, 2, 3)"
 * @returns {number[]}
 */
function partsOfColour(colour) {
  return (colour.match(/\d+(\.\d+)?/g) || ["0", "0", "0"]).slice(0, 3).map(Number);
}

/**
 * As a canvas keeps it.
 * @param {number[]} one
 * @param {number[]} other
 * @param {number} share of the other
 */
function mixed(one, other, share) {
  const [red, green, blue] = one.map((part, i) => Math.round(part + (other[i] - part) * share));
  return (255 << 24) | (blue << 16) | (green << 8) | red;
}

/**
 * The colours of every layer: its shades, then the edge.
 * @param {string[]} fills
 * @param {any} colours
 */
function palette(fills, colours) {
  const [text, background] = [partsOfColour(colours.text), partsOfColour(colours.background)];
  return fills.map((fill) => {
    const own = partsOfColour(fill);
    return [...SHADES.map((share) => mixed(own, text, share)), mixed(own, background, EDGE)];
  });
}

/**
 * The picture of all stripes, to be drawn over the layers of the timeline.
 * @param {Timeline} line
 * @param {Stripes} stripes
 * @param {string[]} fills of the layers
 * @param {any} colours
 * @param {(bytes: number) => number} yOf
 */
function paintStripes(line, stripes, fills, colours, yOf) {
  const ratio = line.canvas.width / Math.max(1, line.width);
  const picture = document.createElement("canvas");
  picture.width = line.canvas.width;
  picture.height = Math.round(line.look.height * ratio);
  const pen = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  const image = pen.createImageData(picture.width, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  const shades = palette(fills, colours);
  const { begin, block, low, high, layer, blocks } = stripes;
  const seen = new Int32Array(blocks.made.length).fill(-2);  // the last column of a block
  line.columns.forEach(({ x, next }, column) => {
    const [left, right] = [Math.round(x * ratio), Math.min(picture.width, Math.round(next * ratio))];
    for (let i = begin[column]; i < begin[column + 1]; i++) {
      const [top, bottom] = [Math.max(0, Math.round(yOf(high[i]) * ratio)), Math.round(yOf(low[i]) * ratio)];
      const own = shades[layer[i]];
      const hasEdge = bottom - top >= LEAST_FOR_EDGE;
      const inside = own[block[i] % SHADES.length];
      const begins = seen[block[i]] !== column - 1 && hasEdge;
      seen[block[i]] = column;
      for (let y = top; y < bottom; y++) {
        const row = y * picture.width;
        const colour = hasEdge && y === top ? own[SHADES.length] : inside;
        for (let at = row + left; at < row + right; at++) pixels[at] = colour;
        if (begins) pixels[row + left] = own[SHADES.length];
      }
    }
  });
  pen.putImageData(image, 0, 0);
  return picture;
}

/**
 * The same for a drawing of shapes: neighbours of one height as one.
 * @param {Timeline} line
 * @param {Stripes} stripes
 * @param {any} pen
 * @param {any} colours
 * @param {(bytes: number) => number} yOf
 */
function traceStripes(line, stripes, pen, colours, yOf) {
  /** @type {Map<number, {x: number, next: number, low: number, high: number, column: number}>} by block */
  const open = new Map();
  const close = (/** @type {{x: number, next: number, low: number, high: number}} */ { x, next, low, high }) =>
    pen.strokeRect(x, yOf(high), next - x, yOf(low) - yOf(high));
  pen.strokeStyle = colours.background;
  pen.lineWidth = 0.5;
  line.columns.forEach(({ x, next }, column) => {
    for (let i = stripes.begin[column]; i < stripes.begin[column + 1]; i++) {
      const [block, low, high] = [stripes.block[i], stripes.low[i], stripes.high[i]];
      const known = open.get(block);
      if (known && known.column === column - 1 && known.low === low && known.high === high) Object.assign(known, { next, column });
      else {
        if (known) close(known);
        open.set(block, { x, next, low, high, column });
      }
    }
  });
  for (const one of open.values()) close(one);
  pen.lineWidth = 1;
}

/**
 * A block over its life.
 * @param {Timeline} line
 * @param {Stripes} stripes
 * @param {number} block
 * @param {any} pen
 * @param {any} colours
 * @param {(bytes: number) => number} yOf
 */
function outlineBlock(line, stripes, block, pen, colours, yOf) {
  const found = stripes.ofBlock(block);
  if (!found.length) return;
  pen.beginPath();
  for (const { column, stripe } of found) {
    pen.lineTo(line.columns[column].x, yOf(stripes.high[stripe]));
    pen.lineTo(line.columns[column].next, yOf(stripes.high[stripe]));
  }
  for (const { column, stripe } of found.reverse()) {
    pen.lineTo(line.columns[column].next, yOf(stripes.low[stripe]));
    pen.lineTo(line.columns[column].x, yOf(stripes.low[stripe]));
  }
  pen.lineTo(line.columns[found[found.length - 1].column].x, yOf(stripes.high[found[found.length - 1].stripe]));
  for (const [colour, width] of [[colours.background, 4], [colours.text, 2]]) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }
  pen.lineWidth = 1;
}

export class StripeLayer {
  /** @param {Timeline} line */
  constructor(line) {
    this.line = line;
    this.isOn = false;
    /** Blocks that are outlined: the one under the pointer, and the chosen one; -1: none. */
    this.outlined = [-1, -1];
    /** @type {Stripes | null} */
    this.stripes = null;
    this.yOf = (/** @type {number} */ bytes) => bytes;
    /** @type {{key: any[], picture: HTMLCanvasElement} | null} */
    this.painted = null;
  }

  /**
   * Computed and painted once for a zoom, a choice and a theme: a drag only draws the picture again.
   * @param {any} pen
   * @param {any} colours
   * @param {(bytes: number) => number} yOf
   * @param {number} bytesOfPixel
   */
  draw(pen, colours, yOf, bytesOfPixel) {
    if (!this.isOn) return;
    const { line } = this;
    this.yOf = yOf;
    const key = [line.cut, colours, line.canvas.width, bytesOfPixel];
    if (!this.stripes || !this.painted || key.some((one, i) => one !== this.painted?.key[i])) {
      this.stripes = this.compute((bytesOfPixel * line.width) / line.canvas.width);
      this.painted = { key, picture: paintStripes(line, this.stripes, line.fillsOf(colours), colours, yOf) };
    }
    if (pen.drawImage) pen.drawImage(this.painted.picture, 0, 0, line.width, line.look.height);
    else traceStripes(line, this.stripes, pen, colours, yOf);
    for (const block of this.outlined) if (block >= 0) outlineBlock(line, this.stripes, block, pen, colours, yOf);
  }

  /** @param {number} least bytes of a block that is drawn */
  compute(least) {
    const { line } = this;
    const { tensors, columns } = line.model;
    const blocks = { bytes: tensors.bytes, made: columns.tensor_made, lived: columns.tensor_lived, layerOf: this.layerOf() };
    return new Stripes(blocks, line.columns.map(({ best }) => columns.point_peak_event[best]), (column) => line.partsOf(column), least);
  }

  /** The layer of every block. @returns {(block: number) => number} */
  layerOf() {
    const { model, series } = this.line;
    const { tensor_context: context } = model.columns;
    if (series) {
      const { of, names } = series.groups;
      const layers = names.map((_, group) => series.chosen.indexOf(group));
      return (/** @type {number} */ block) => (layers[of[context[block]]] < 0 ? series.chosen.length : layers[of[context[block]]]);
    }
    const layers = model.page.categories.map((/** @type {string} */ _, /** @type {number} */ i) => model.page.stacking.indexOf(i));
    return (/** @type {number} */ block) => layers[model.numbers.category[context[block]]];
  }

  /**
   * The block under a pointer; -1: none that is drawn.
   * @param {{clientX: number, clientY: number}} at
   */
  at({ clientX, clientY }) {
    if (!this.isOn || !this.stripes) return -1;
    const { left, top } = this.line.canvas.getBoundingClientRect();
    const bytes = (this.yOf(0) - (clientY - top)) / (this.yOf(0) - this.yOf(1));
    const stripe = this.stripes.at(this.line.columnAt(clientX - left), bytes);
    return stripe < 0 ? -1 : this.stripes.block[stripe];
  }
}
