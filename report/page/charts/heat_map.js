// @ts-check
// A heat map: one row per file, one column per phase, darker (or, on dark ground, lighter) is more.
// It may have a thousand rows; the table beside it has the figures.
import { fitText, hideTip, showTip, sizeCanvas } from "../elements/dom.js";
import { formatBytes } from "../elements/format.js";

const HEAT_HEAD = 22;  // CSS pixels
const HEAT_ROW = 22;
const MOST_HEIGHT = 600;
const LEAST_FOR_TEXT = 14;

/**
 * A column knows the cell of a row: its bytes and the other texts of its tip, or null.
 * @typedef {{name: string, cells: ({bytes: number, tip: string[]} | null)[]}} HeatColumn
 */

export class HeatMap {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {string[]} rows
   * @param {HeatColumn[]} columns
   */
  constructor(canvas, rows, columns) {
    this.canvas = canvas;
    this.rows = rows;
    this.columns = columns;
    this.perColumn = true;
    this.left = 0;
    this.width = 1;
    this.height = Math.max(1, Math.min(HEAT_ROW, Math.floor(MOST_HEIGHT / rows.length)));
    canvas.onpointermove = (event) => this.tip(event);
    canvas.onpointerleave = hideTip;
  }

  /**
   * The most of the cells that share a scale, which begins at zero.
   * @param {HeatColumn} column
   */
  scaleOf(column) {
    let most = 0;
    for (const one of this.perColumn ? [column] : this.columns) {
      for (const cell of one.cells) {
        if (!cell) continue;
        most = Math.max(most, cell.bytes);
      }
    }
    return most;
  }

  /** @param {any} colours */
  draw(colours) {
    const { pen, width } = sizeCanvas(this.canvas, HEAT_HEAD + this.rows.length * this.height);
    const longest = this.rows.reduce((room, row) => Math.max(room, pen.measureText(row.slice(0, 60)).width), 0);
    this.width = width;
    this.left = Math.min(longest + 12, width * 0.3);
    const each = (width - this.left) / this.columns.length;
    this.columns.forEach((column, i) => {
      const x = this.left + i * each;
      pen.fillStyle = colours.muted;
      pen.fillText(fitText(pen, column.name, each - 6), x + 3, HEAT_HEAD / 2);
      this.drawColumn(pen, colours, column, x, each - 1);
    });
    const every = Math.ceil(LEAST_FOR_TEXT / this.height);
    pen.fillStyle = colours.text;
    for (let row = 0; row < this.rows.length; row += every) {
      pen.fillText(fitText(pen, this.rows[row], this.left - 8), 0, HEAT_HEAD + (row + 0.5) * this.height);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {any} colours
   * @param {HeatColumn} column
   * @param {number} x
   * @param {number} width
   */
  drawColumn(pen, colours, column, x, width) {
    const most = this.scaleOf(column);
    const gap = this.height >= 8 ? 1 : 0;
    column.cells.forEach((cell, row) => {
      if (!cell) return;
      const share = most > 0 ? cell.bytes / most : 0;
      const colour = mixColours(colours.accentSoft, colours.accent, share);
      const y = HEAT_HEAD + row * this.height;
      pen.fillStyle = `rgb(${colour.join(", ")})`;
      pen.fillRect(x, y, width, this.height - gap);
      if (this.height < LEAST_FOR_TEXT) return;
      const text = formatBytes(cell.bytes);
      if (pen.measureText(text).width > width - 8) return;
      pen.fillStyle = textOn(colour);
      pen.fillText(text, x + 4, y + this.height / 2);
    });
  }

  /** @param {PointerEvent} event */
  tip(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - HEAT_HEAD) / this.height);
    const at = Math.floor(((event.clientX - box.left - this.left) / (this.width - this.left)) * this.columns.length);
    const column = this.columns[at];
    const cell = column && column.cells[row];
    if (!cell) return hideTip();
    showTip(event, [`${this.rows[row]}, ${column.name}`, formatBytes(cell.bytes), ...cell.tip].map((text) => ({ text: text.slice(0, 300) })));
  }
}

/**
 * @param {string} from "rgb(1, 2, 3)"
 * @param {string} to
 * @param {number} share
 */
function mixColours(from, to, share) {
  const [first, second] = [from, to].map((text) => (text.match(/[\d.]+/g) || []).map(Number));
  return [0, 1, 2].map((i) => Math.round(first[i] + share * (second[i] - first[i])));
}

/**
 * Black or white, whichever has more contrast: at least 4.5:1 on any colour.
 * @param {number[]} colour
 */
function textOn(colour) {
  const [red, green, blue] = colour.map((one) => ((one / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
