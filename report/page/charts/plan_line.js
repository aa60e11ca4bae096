// @ts-check
// The peak against the cost of sets of checkpointed layers, with the budget as a line that is dragged.
import { drawOnGround, sizeCanvas } from "../elements/dom.js";
import { formatBytes } from "../elements/format.js";

const PLAN_HEIGHT = 260;  // CSS pixels
const PLAN_TOP = 18;
const PLAN_BELOW = 40;
const PLAN_SIDE = 16;

/** @typedef {{bytes: number, cost: number | null, layers: string[]}} PlanPoint */

export class PlanLine {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {PlanPoint[]} points by falling peak
   */
  constructor(canvas, points) {
    this.canvas = canvas;
    this.points = points;
    this.isKnown = points.every((point) => point.cost !== null);
    this.most = Math.max(1, ...points.map((point) => point.bytes)) * 1.06;
    this.width = 1;
  }

  /** @param {PlanPoint} point */
  costOf(point) {
    return this.isKnown ? Number(point.cost) : point.layers.length;
  }

  /** @param {number} cost */
  xOf(cost) {
    const last = this.costOf(this.points[this.points.length - 1]) || 1;
    return PLAN_SIDE + (cost / last) * (this.width - 2 * PLAN_SIDE);
  }

  /** @param {number} bytes */
  yOf(bytes) {
    return PLAN_TOP + (PLAN_HEIGHT - PLAN_TOP - PLAN_BELOW) * (1 - bytes / this.most);
  }

  /** @param {number} y of a pointer */
  bytesAt(y) {
    const inside = y - this.canvas.getBoundingClientRect().top - PLAN_TOP;
    return Math.min(this.most, Math.max(0, this.most * (1 - inside / (PLAN_HEIGHT - PLAN_TOP - PLAN_BELOW))));
  }

  /**
   * @param {any} colours
   * @param {number} budget
   * @param {PlanPoint | undefined} chosen
   */
  draw(colours, budget, chosen) {
    const { pen, width } = sizeCanvas(this.canvas, PLAN_HEIGHT);
    this.width = width;
    this.drawAxes(pen, colours);
    this.drawSteps(pen, colours);
    const y = Math.round(this.yOf(budget));
    pen.fillStyle = colours.text;
    pen.fillRect(0, y, width, 1);
    drawOnGround(pen, colours, `budget ${formatBytes(budget)}`, width - 4, y > PLAN_TOP + 8 ? y - 10 : y + 10, "right");
    for (const point of this.points) {
      pen.fillStyle = colours.accent;
      pen.beginPath();
      pen.arc(this.xOf(this.costOf(point)), this.yOf(point.bytes), point === chosen ? 7 : 3.5, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawAxes(pen, colours) {
    for (const part of [0, 0.5, 1]) {
      const bytes = (this.most / 1.06) * part;
      const y = Math.round(this.yOf(bytes));
      pen.fillStyle = colours.line;
      pen.fillRect(0, y, this.width, 1);
      if (part) drawOnGround(pen, colours, formatBytes(bytes), 2, y + 10, "left");
    }
    const last = this.costOf(this.points[this.points.length - 1]);
    const text = (/** @type {number} */ cost) => (this.isKnown ? `+${(cost * 100).toFixed(1)} %` : String(cost));
    drawOnGround(pen, colours, text(0), 2, PLAN_HEIGHT - 26, "left");
    drawOnGround(pen, colours, text(last), this.width - 2, PLAN_HEIGHT - 26, "right");
    const name = this.isKnown ? "FLOPs of a step that are made again" : "number of checkpointed layers";
    drawOnGround(pen, colours, name, this.width / 2, PLAN_HEIGHT - 10, "center");
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   */
  drawSteps(pen, colours) {
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    pen.beginPath();
    this.points.forEach((point, i) => {
      const x = this.xOf(this.costOf(point));
      if (i) pen.lineTo(x, this.yOf(this.points[i - 1].bytes));
      pen.lineTo(x, this.yOf(point.bytes));
    });
    pen.stroke();
    pen.lineWidth = 1;
  }
}
