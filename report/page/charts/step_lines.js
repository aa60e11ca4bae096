// @ts-check
// The levels of several files over each other, by step.
import { sizeCanvas } from "../elements/dom.js";
import { formatBytes, formatCount, roundUp } from "../elements/format.js";

const LINES_HEIGHT = 240;  // CSS pixels
const LINES_TOP = 14;
const LINES_AXIS = 24;
const LEAST_FOR_STEP = 64;

/**
 * A line of the drawing; `colour`: a name of those of the page.
 * @typedef {{levels: import("../data/step_levels.js").StepLevels, colour: string, wide: boolean}} StepLine
 */

export class StepLines {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("../data/step_levels.js").StepAxis} axis
   */
  constructor(canvas, axis) {
    this.canvas = canvas;
    this.axis = axis;
    this.width = 1;
    this.most = 1;
  }

  /** @param {number} slot may be a fraction */
  xOf(slot) {
    return (slot / this.axis.count) * this.width;
  }

  /** @param {number} bytes */
  yOf(bytes) {
    return LINES_HEIGHT - LINES_AXIS - ((LINES_HEIGHT - LINES_AXIS - LINES_TOP) * bytes) / this.most;
  }

  /** @param {number} x of a pointer */
  slotAt(x) {
    const share = (x - this.canvas.getBoundingClientRect().left) / Math.max(1, this.width);
    return Math.min(this.axis.count - 1, Math.max(0, Math.floor(share * this.axis.count)));
  }

  /** @param {number} y of a pointer; bytes there */
  bytesAt(y) {
    const inside = y - this.canvas.getBoundingClientRect().top;
    return ((LINES_HEIGHT - LINES_AXIS - inside) * this.most) / (LINES_HEIGHT - LINES_AXIS - LINES_TOP);
  }

  /**
   * @param {any} colours
   * @param {StepLine[]} lines
   * @param {number} chosen slot; -1: none
   */
  draw(colours, lines, chosen) {
    const { pen, width } = sizeCanvas(this.canvas, LINES_HEIGHT);
    this.width = width;
    this.most = lines.reduce((most, { levels }) => levels.facts.peaks.reduce((top, one) => Math.max(top, one), most), 1);
    if (chosen >= 0) {
      pen.fillStyle = colours.accentSoft;
      pen.fillRect(this.xOf(chosen), 0, Math.max(2, this.xOf(1)), LINES_HEIGHT - LINES_AXIS);
    }
    this.drawSteps(pen, colours);
    this.drawHeights(pen, colours);
    for (const line of lines) this.drawLine(pen, line, colours[line.colour]);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawSteps(pen, colours) {
    const { axis, width } = this;
    pen.fillStyle = colours.line;
    pen.fillRect(0, LINES_HEIGHT - LINES_AXIS, width, 1);
    pen.fillStyle = colours.muted;
    if (axis.end === axis.first) return;
    const every = roundUp(LEAST_FOR_STEP / this.xOf(1));
    for (let step = Math.ceil(axis.first / every) * every; step < axis.end; step += every) {
      const x = this.xOf(step - axis.first + 1);
      pen.fillStyle = colours.line;
      pen.fillRect(Math.round(x), LINES_HEIGHT - LINES_AXIS, 1, 6);
      pen.fillStyle = colours.muted;
      const text = `${axis.one} ${formatCount(step)}`;
      if (x + 4 + pen.measureText(text).width <= width) pen.fillText(text, x + 4, LINES_HEIGHT - 10);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawHeights(pen, colours) {
    let step = 1;
    while (step * 4 < this.most) step *= 2;
    for (let bytes = step; bytes <= this.most; bytes += step) {
      const y = Math.round(this.yOf(bytes));
      pen.fillStyle = colours.line;
      pen.fillRect(0, y, this.width, 1);
      pen.fillStyle = colours.muted;
      pen.fillText(formatBytes(bytes).replace(/\.?0+ /, " "), 3, y - 8);
    }
  }

  /**
   * Every part at its peak. A range of several steps is as wide as these are.
   * @param {CanvasRenderingContext2D} pen
   * @param {StepLine} line
   * @param {string} colour
   */
  drawLine(pen, { levels, wide }, colour) {
    const { axis } = this;
    const { steps, end_step: end, peaks } = levels.facts;
    pen.strokeStyle = colour;
    pen.lineWidth = wide ? 2 : 1;
    pen.lineJoin = "round";
    pen.beginPath();
    let behind = 0;
    for (let range = 0; range < levels.count; range++) {
      const isStep = range > 0 && range < levels.count - 1;
      const from = range === 0 ? 0 : isStep ? steps[range - 1] - axis.first + 1 : axis.count - 1;
      const to = !isStep ? from + 1 : (range < steps.length ? steps[range] : end) - axis.first + 1;
      // Another file has steps that this one lacks.
      if (from > behind) pen.moveTo(this.xOf(from), this.yOf(peaks[range * levels.parts]));
      behind = to;
      for (let part = 0; part < levels.parts; part++) {
        const y = this.yOf(peaks[range * levels.parts + part]);
        pen.lineTo(this.xOf(from + ((to - from) * part) / levels.parts), y);
        pen.lineTo(this.xOf(from + ((to - from) * (part + 1)) / levels.parts), y);
      }
    }
    pen.stroke();
    pen.lineWidth = 1;
  }
}
