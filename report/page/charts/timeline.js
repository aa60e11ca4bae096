// @ts-check
// Memory over the run: every pixel column shows its highest moment, split by category or another key.
import { choices } from "../data/choices.js";
import { classOf, sizeCanvas } from "../elements/dom.js";
import { formatBytes } from "../elements/format.js";
import { Groups, Series } from "../data/series.js";
import { StripeLayer } from "./stripes.js";
import { drawNumbers } from "./timeline_numbers.js";
import { drawMarks, drawRibbon } from "./timeline_ribbon.js";

/** @typedef {import("../data/model.js").Model} Model */
/** @typedef {{x: number, next: number, best: number, low: number, reserved: number}} Column `best`: its highest point */

const AXIS_ROOM = 62;  // CSS pixels of the labels at the left

export class Timeline {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Model} model
   * @param {{height: number, axis: boolean, follows?: boolean}} look `follows`: stacks by the key
   * of the model, with the line of the bytes that torch reserved
   */
  constructor(canvas, model, look) {
    this.canvas = canvas;
    this.model = model;
    this.look = look;
    this.from = 0;
    this.to = model.pointCount;
    this.byTime = false;
    this.width = 1;
    this.cut = "";
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Groups | null} */
    this.groups = null;
    /** @type {Series | null} null: by category */
    this.series = null;
    /** Over the levels: every block that is large enough. */
    this.blocks = new StripeLayer(this);
  }

  /** Computes the columns and their series, once for a zoom and a choice. */
  cutColumns() {
    const { model, look } = this;
    const stacked = look.follows ? model.stacked : "category";
    const cut = [this.from, this.to, this.byTime, this.width, stacked].join();
    if (cut === this.cut) return;
    this.cut = cut;
    this.columns = [];
    for (let x = 0; x < this.width; ) {
      const first = this.pointOf(x);
      const next = Math.max(x + 1, Math.round(this.xOf(first + 1)));
      const behind = Math.min(this.to, Math.max(first + 1, next >= this.width ? this.to : this.pointOf(next)));
      const { best, low } = model.pyramid.range(first, behind);
      const reserved = look.follows && model.reservedPyramid ? model.reserved[model.reservedPyramid.range(first, behind).best] : 0;
      this.columns.push({ x, next, best, low, reserved });
      x = next;
    }
    if (this.groups?.by !== stacked) this.groups = stacked === "category" ? null : new Groups(model, stacked);
    this.series = this.groups && new Series(model, this.groups, this.columns.map(({ best }) => best), this.series);
  }

  /**
   * The column at a horizontal position.
   * @param {number} x
   */
  columnAt(x) {
    this.cutColumns();
    return Math.max(0, this.columns.findLastIndex((column) => column.x <= x));
  }

  /** The categories that are anywhere in the drawing. */
  drawnCategories() {
    const { model } = this;
    return new Set(model.page.categories.map((/** @type {string} */ _, /** @type {number} */ i) => i)
      .filter((/** @type {number} */ category) => this.columns.some(({ best }) => model.levelOf(best, category) > 0)));
  }

  /** The seconds at the left and at the right edge, by time. */
  get edges() {
    const { model, from, to } = this;
    return { begin: model.begin[from], end: to < model.pointCount ? model.begin[to] : Math.max(model.workEnd, model.begin[from]) };
  }

  /**
   * The seconds at a horizontal position.
   * @param {number} x
   */
  secondsAt(x) {
    const { begin, end } = this.edges;
    if (this.byTime) return begin + (x / this.width) * (end - begin);
    return x >= this.width && this.to >= this.model.pointCount ? this.model.end : this.model.begin[this.pointOf(x)];
  }

  /** The layers from below: their names, and the classes of their colours. */
  get layers() {
    const { model } = this;
    if (this.series) return { names: this.series.names, kinds: this.series.kinds };
    const names = model.page.stacking.map((/** @type {number} */ category) => model.page.categories[category]);
    return { names, kinds: names.map(classOf) };
  }

  /**
   * Bytes of the layers in a column.
   * @param {number} column
   * @returns {number[]}
   */
  partsOf(column) {
    const { model } = this;
    const { best } = this.columns[column];
    if (this.series) return this.series.parts(column, model.high[best]);
    return model.page.stacking.map((/** @type {number} */ category) => model.levelOf(best, category));
  }

  /**
   * The point at a horizontal position; positions are CSS pixels.
   * @param {number} x
   */
  pointOf(x) {
    const share = Math.min(1, Math.max(0, x / this.width));
    const { model, from, to } = this;
    if (!this.byTime) return Math.min(to - 1, Math.floor(from + share * (to - from)));
    const { begin, end } = this.edges;
    return Math.min(to - 1, Math.max(from, model.pointAt(begin + share * (end - begin))));
  }

  /** @param {number} point */
  xOf(point) {
    const { model, from, to } = this;
    if (!this.byTime) return ((point - from) / (to - from)) * this.width;
    const { begin, end } = this.edges;
    const seconds = point >= model.pointCount ? model.end : model.begin[point];
    return end > begin ? Math.min(1, (seconds - begin) / (end - begin)) * this.width : 0;
  }

  /**
   * @param {number} x
   * @param {number} y in screen pixels, of a pointer; false: not here
   */
  momentOf(x, y = 0) {
    return Math.floor(this.pointOf(x - this.canvas.getBoundingClientRect().left) / this.model.ratio);
  }

  /** @param {any} colours */
  draw(colours) {
    const { model, look } = this;
    this.byTime = choices.get("axis", "events") === "time";
    const ribbon = look.axis ? 58 : 0;
    const { pen, width } = sizeCanvas(this.canvas, look.height + ribbon);
    this.width = width;
    this.cutColumns();
    const top = look.axis ? 20 : 2;
    const most = this.columns.reduce((high, { best, reserved }) => Math.max(high, model.high[best], reserved), 1);
    const scale = (look.height - top) / most;
    const yOf = (/** @type {number} */ bytes) => look.height - bytes * scale;
    this.drawLevels(pen, colours, yOf);
    this.blocks.draw(pen, colours, yOf, 1 / scale);
    if (look.axis) this.drawGrid(pen, colours, most, yOf);
    if (this.series) drawNumbers(this, this.series, pen, colours, yOf);
    if (look.axis) drawMarks(this, pen, colours);
    this.drawWindow(pen, colours, yOf);
    if (look.axis) drawRibbon(this, pen, colours);
  }

  /**
   * The colours of the layers.
   * @param {any} colours
   * @returns {string[]}
   */
  fillsOf(colours) {
    if (this.series) return [...this.series.colours.map((colour) => colours.series[colour]), colours.rest];
    return this.model.page.stacking.map((/** @type {number} */ category) => colours.fill[category]);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   * @param {(bytes: number) => number} yOf
   */
  drawLevels(pen, colours, yOf) {
    const { model, columns } = this;
    const fills = this.fillsOf(colours);
    columns.forEach(({ x, next }, column) => {
      let y = 0;
      this.partsOf(column).forEach((bytes, layer) => {
        if (bytes <= 0) return;
        pen.fillStyle = fills[layer];
        pen.fillRect(x, yOf(y + bytes), next - x, yOf(y) - yOf(y + bytes) + 0.5);
        y += bytes;
      });
    });
    if (!this.look.axis) return;
    pen.strokeStyle = colours.text;
    pen.globalAlpha = 0.45;
    pen.beginPath();
    for (const { x, next, low } of columns) {
      pen.moveTo(x, yOf(low));
      pen.lineTo(next, yOf(low));
    }
    pen.stroke();
    pen.globalAlpha = 1;
    if (this.look.follows && model.reservedPyramid) this.drawReserved(pen, colours, yOf);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   * @param {(bytes: number) => number} yOf
   */
  drawReserved(pen, colours, yOf) {
    pen.strokeStyle = colours.text;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const { x, next, reserved } of this.columns) {
      pen.lineTo(x, yOf(reserved));
      pen.lineTo(next, yOf(reserved));
    }
    pen.stroke();
    pen.lineWidth = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   * @param {number} most
   * @param {(bytes: number) => number} yOf
   */
  drawGrid(pen, colours, most, yOf) {
    let step = 1;
    while (step * 4 < most) step *= 2;
    for (let bytes = step; bytes < most; bytes += step) {
      const y = Math.round(yOf(bytes));
      const label = formatBytes(bytes).replace(/\.?0+ /, " ");
      const room = pen.measureText(label).width + 6;
      pen.fillStyle = colours.text;
      pen.globalAlpha = 0.12;
      pen.fillRect(0, y, this.width, 1);
      pen.fillStyle = colours.background;
      pen.globalAlpha = 0.8;
      pen.fillRect(0, y - 17, room, 16);
      pen.globalAlpha = 1;
      pen.fillStyle = colours.muted;
      pen.fillText(label, 3, y - 8);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   * @param {(bytes: number) => number} yOf
   */
  drawWindow(pen, colours, yOf) {
    const { model, width, look } = this;
    if (model.window) {
      const left = Math.max(0, this.xOf(model.window.from * model.ratio));
      const right = Math.min(width, Math.max(left + 2, this.xOf(Math.min(model.pointCount, model.window.to * model.ratio))));
      pen.fillStyle = colours.background;
      pen.globalAlpha = 0.62;
      pen.fillRect(0, 0, left, look.height);
      pen.fillRect(right, 0, width - right, look.height);
      pen.globalAlpha = 1;
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 1.5;
      pen.strokeRect(left, 1, right - left, look.height - 1);
      pen.lineWidth = 1;
    }
    if (model.point < this.from || model.point >= this.to) return;
    const x = Math.round((this.xOf(model.point) + this.xOf(model.point + 1)) / 2);
    pen.strokeStyle = colours.text;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(x + 0.5, 0);
    pen.lineTo(x + 0.5, look.height);
    pen.stroke();
    pen.setLineDash([]);
    if (!look.axis) return;
    const label = formatBytes(model.bytes);
    const room = pen.measureText(label).width;
    const at = x + room + 12 > width ? x - room - 6 : Math.max(AXIS_ROOM, x + 6);
    pen.fillStyle = colours.background;
    pen.fillRect(at - 3, 1, room + 6, 17);
    pen.fillStyle = colours.text;
    pen.fillText(label, at, 10);
  }

  /**
   * @param {number} factor above 1: closer
   * @param {number} x CSS pixels: stays where it is
   */
  zoom(factor, x) {
    const count = this.model.pointCount;
    const centre = this.pointOf(x);
    const size = Math.min(count, Math.max(Math.min(count, 16), Math.round((this.to - this.from) / factor)));
    const share = this.width ? x / this.width : 0.5;
    this.from = Math.max(0, Math.min(count - size, Math.round(centre - share * size)));
    this.to = this.from + size;
  }
}
