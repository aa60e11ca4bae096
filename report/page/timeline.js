// @ts-check
// Memory over the run: every pixel column shows its highest moment, split by category.
import { fitText, sizeCanvas } from "./dom.js";
import { formatBytes, formatSeconds } from "./format.js";

/** @typedef {import("./model.js").Model} Model */

export class Timeline {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Model} model
   * @param {{height: number, axis: boolean}} look
   */
  constructor(canvas, model, look) {
    this.canvas = canvas;
    this.model = model;
    this.look = look;
    this.from = 0;
    this.to = model.pointCount;
    this.byTime = false;
    this.width = 1;
  }

  /**
   * The point at a horizontal position; positions are CSS pixels.
   * @param {number} x
   */
  pointOf(x) {
    const share = Math.min(1, Math.max(0, x / this.width));
    const { model, from, to } = this;
    if (!this.byTime) return Math.min(to - 1, Math.floor(from + share * (to - from)));
    const begin = model.begin[from];
    const end = to >= model.pointCount ? model.end : model.begin[to];
    return Math.min(to - 1, Math.max(from, model.pointAt(begin + share * (end - begin))));
  }

  /** @param {number} point */
  xOf(point) {
    const { model, from, to } = this;
    if (!this.byTime) return ((point - from) / (to - from)) * this.width;
    const begin = model.begin[from];
    const end = to >= model.pointCount ? model.end : model.begin[to];
    const seconds = point >= model.pointCount ? model.end : model.begin[point];
    return end > begin ? ((seconds - begin) / (end - begin)) * this.width : 0;
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
    const ribbon = look.axis ? 58 : 0;
    const { pen, width } = sizeCanvas(this.canvas, look.height + ribbon);
    this.width = width;
    const top = look.axis ? 20 : 2;
    const whole = model.pyramid.range(this.from, this.to);
    const scale = (look.height - top) / Math.max(1, model.high[whole.best]);
    const yOf = (/** @type {number} */ bytes) => look.height - bytes * scale;
    this.drawLevels(pen, colours, yOf);
    if (look.axis) this.drawGrid(pen, colours, model.high[whole.best], yOf);
    if (look.axis) this.drawMarks(pen, colours);
    this.drawWindow(pen, colours, yOf);
    if (look.axis) this.drawRibbon(pen, colours);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   * @param {(bytes: number) => number} yOf
   */
  drawLevels(pen, colours, yOf) {
    const { model, width } = this;
    const lows = [];
    for (let x = 0; x < width; ) {
      const first = this.pointOf(x);
      const next = Math.max(x + 1, Math.round(this.xOf(first + 1)));
      const behind = Math.max(first + 1, next >= width ? this.to : this.pointOf(next));
      const { best, low } = model.pyramid.range(first, Math.min(this.to, behind));
      let y = 0;
      for (const category of model.stacking) {
        const bytes = model.levelOf(best, category);
        if (bytes <= 0) continue;
        pen.fillStyle = colours.fill[category];
        pen.fillRect(x, yOf(y + bytes), next - x, yOf(y) - yOf(y + bytes) + 0.5);
        y += bytes;
      }
      lows.push([x, next, yOf(low)]);
      x = next;
    }
    if (!this.look.axis) return;
    pen.strokeStyle = colours.text;
    pen.globalAlpha = 0.45;
    pen.beginPath();
    for (const [x, next, y] of lows) {
      pen.moveTo(x, y);
      pen.lineTo(next, y);
    }
    pen.stroke();
    pen.globalAlpha = 1;
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
    const at = x + room + 12 > width ? x - room - 6 : x + 6;
    pen.fillStyle = colours.background;
    pen.fillRect(at - 3, 1, room + 6, 17);
    pen.fillStyle = colours.text;
    pen.fillText(label, at, 10);
  }

  /**
   * What the program marked, and requests the device refused.
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawMarks(pen, colours) {
    const { page } = this.model;
    const marks = page.phases.notes.map((/** @type {any} */ one) => ({ at: one.seconds, text: one.text }));
    for (const one of page.refused) marks.push({ at: one.seconds, text: "out of memory" });
    let free = 0;
    for (const { at, text } of marks.sort((/** @type {any} */ a, /** @type {any} */ b) => a.at - b.at)) {
      const point = this.model.pointAt(at);
      if (point < this.from || point >= this.to) continue;
      const x = Math.round(this.xOf(point));
      pen.fillStyle = colours.muted;
      pen.fillRect(x, 0, 1, this.look.height);
      const shown = fitText(pen, text, Math.min(140, this.width - x - 8));
      if (x < free || !shown) continue;
      free = x + pen.measureText(shown).width + 10;
      pen.fillStyle = colours.background;
      pen.fillRect(x + 2, 20, free - x - 6, 16);
      pen.fillStyle = colours.text;
      pen.fillText(shown, x + 5, 28);
    }
  }

  /**
   * Phases and steps below.
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawRibbon(pen, colours) {
    const { model, width, look } = this;
    const y = look.height + 4;
    const box = (/** @type {any} */ one) => {
      const left = Math.max(0, this.xOf(model.pointAt(one.begin_seconds)));
      const right = Math.min(width, this.xOf(model.pointAt(one.end_seconds)));
      return { left, right };
    };
    for (const one of model.intervals) {
      const { left, right } = box(one);
      if (right - left < 1) continue;
      pen.fillStyle = one.name === "backward" ? colours.frame : colours.soft;
      pen.fillRect(left, y, right - left - 1, 18);
      pen.fillStyle = colours.text;
      pen.fillText(fitText(pen, one.name, right - left - 10), left + 5, y + 10);
    }
    for (const one of model.page.phases.steps) {
      const { left, right } = box(one);
      if (right - left < 12) continue;
      pen.fillStyle = colours.line;
      pen.fillRect(left, y + 18, 1, 16);
      pen.fillStyle = colours.muted;
      pen.fillText(fitText(pen, `step ${one.step}`, right - left - 8), left + 5, y + 28);
    }
    const span = (this.to >= model.pointCount ? model.end : model.begin[this.to]) - model.begin[this.from];
    const digits = span < 0.004 ? 5 : span < 0.04 ? 4 : 3;
    pen.fillStyle = colours.muted;
    for (let part = 0; part <= 4; part++) {
      const x = (part / 4) * width;
      const point = this.pointOf(Math.min(x, width - 1));
      const text = formatSeconds(part === 4 && this.to >= model.pointCount ? model.end : model.begin[point], digits);
      const room = pen.measureText(text).width;
      pen.fillText(text, Math.min(width - room, Math.max(0, x - room / 2)), y + 46);
    }
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
