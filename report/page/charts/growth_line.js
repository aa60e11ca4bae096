// @ts-check
// The level at the end of every step as a line, with the two ends A and B that are compared.
import { drawOnGround, fitText, sizeCanvas } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds, roundUp } from "../elements/format.js";

const LINE_HEIGHT = 220;  // CSS pixels
const LINE_TOP = 26;
const AXIS_HEIGHT = 24;
const LEAST_FOR_TICK = 64;

export class GrowthLine {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("../data/growth.js").Growth} growth
   */
  constructor(canvas, growth) {
    this.canvas = canvas;
    this.growth = growth;
    this.width = 1;
    this.ends = [0, 0];
    this.least = 0;
    this.most = 1;
  }

  /** @param {number} sample */
  xOf(sample) {
    return 12 + (sample / Math.max(1, this.growth.count - 1)) * (this.width - 24);
  }

  /** @param {number} x of a pointer */
  sampleOf(x) {
    const inside = x - this.canvas.getBoundingClientRect().left - 12;
    return this.growth.nearest(Math.round((inside / Math.max(1, this.width - 24)) * (this.growth.count - 1)));
  }

  /** @param {number} bytes */
  yOf(bytes) {
    const room = LINE_HEIGHT - LINE_TOP - AXIS_HEIGHT;
    return LINE_TOP + room * (1 - (bytes - this.least) / Math.max(1, this.most - this.least));
  }

  /**
   * @param {any} colours
   * @param {number[]} ends the samples A and B
   */
  draw(colours, ends) {
    const { pen, width } = sizeCanvas(this.canvas, LINE_HEIGHT);
    this.width = width;
    this.ends = ends;
    this.scale();
    this.drawScale(pen, colours);
    this.drawLine(pen, colours);
    ends.forEach((sample, i) => this.drawEnd(pen, colours, sample, "AB"[i]));
    this.drawLabels(pen, colours);
  }

  /** From zero, unless all levels are much the same. */
  scale() {
    let least = Infinity;
    let most = 1;
    for (const level of this.growth.levels) {
      if (level < least) least = level;
      if (level > most) most = level;
    }
    this.most = most;
    this.least = most - least < most / 3 ? Math.max(0, least - (most - least)) : 0;
  }

  /** Whether the axis begins above zero. */
  get isCut() {
    return this.least > 0;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawScale(pen, colours) {
    const { growth, width } = this;
    for (let part = 0; part <= 2; part++) {
      const bytes = this.least + ((this.most - this.least) * part) / 2;
      const y = Math.round(this.yOf(bytes));
      pen.fillStyle = colours.line;
      pen.fillRect(0, y, width, 1);
    }
    const every = Math.max(1, roundUp(((growth.count - 1) * LEAST_FOR_TICK) / Math.max(1, width)));
    const behind = growth.hasSteps ? (every - (growth.steps[1] % every)) % every : 0;
    pen.textAlign = "center";
    for (let sample = 1 + behind; sample < growth.count; sample += every) {
      const x = this.xOf(sample);
      pen.fillStyle = colours.line;
      pen.fillRect(Math.round(x), LINE_HEIGHT - AXIS_HEIGHT, 1, 5);
      pen.fillStyle = colours.muted;
      const text = growth.hasSteps ? formatCount(growth.steps[sample]) : formatSeconds(growth.seconds[sample]);
      pen.fillText(text, Math.min(width - pen.measureText(text).width / 2, x), LINE_HEIGHT - 8);
    }
    pen.textAlign = "left";
  }

  /**
   * Over the line.
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawLabels(pen, colours) {
    for (let part = 0; part <= 2; part++) {
      const bytes = this.least + ((this.most - this.least) * part) / 2;
      const y = Math.round(this.yOf(bytes)) + (part ? 10 : -9);
      drawOnGround(pen, colours, formatBytes(bytes), 22, y);
    }
  }

  /**
   * One column of the screen may have many steps: it is drawn from their least to their most.
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawLine(pen, colours) {
    const { growth } = this;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    pen.lineJoin = "round";
    pen.beginPath();
    for (let i = 0; i < growth.count; ) {
      const x = Math.round(this.xOf(i));
      let [least, most] = [growth.levels[i], growth.levels[i]];
      const first = growth.levels[i];
      for (; i < growth.count && Math.round(this.xOf(i)) === x; i++) {
        least = Math.min(least, growth.levels[i]);
        most = Math.max(most, growth.levels[i]);
      }
      for (const level of [first, least, most, growth.levels[i - 1]]) pen.lineTo(x, this.yOf(level));
    }
    pen.stroke();
    pen.lineWidth = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   * @param {number} sample
   * @param {string} name
   */
  drawEnd(pen, colours, sample, name) {
    const x = Math.round(this.xOf(sample));
    const y = this.yOf(this.growth.levels[sample]);
    pen.fillStyle = colours.text;
    pen.fillRect(x, 4, 1, LINE_HEIGHT - AXIS_HEIGHT - 4);
    pen.beginPath();
    pen.arc(x + 0.5, y, 4.5, 0, 2 * Math.PI);
    pen.fill();
    const left = name === "A" && x > 30 || x + 20 > this.width ? x - 18 : x + 1;
    pen.fillRect(left, 2, 18, 18);
    pen.fillStyle = colours.background;
    pen.fillText(fitText(pen, name, 18), left + 5, 11.5);
  }
}
