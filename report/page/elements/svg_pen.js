// @ts-check
// The part of a canvas that the charts use, as SVG: a chart that draws here becomes a picture of lines
// and letters, for papers. Names of the program enter it as escaped text only.

/** @param {string} text */
function escapeText(text) {
  return text.replace(/[&<>"\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one] || "");
}

const round = (/** @type {number} */ number) => Math.round(number * 100) / 100;

export class SvgPen {
  /**
   * @param {CanvasRenderingContext2D} measure knows the width of a text
   * @param {number} width
   */
  constructor(measure, width) {
    this.measure = measure;
    this.width = width;
    this.height = 0;
    this.fillStyle = this.strokeStyle = "#000000";
    this.globalAlpha = this.lineWidth = 1;
    this.textAlign = "left";
    /** @type {number[]} */
    this.dash = [];
    /** @type {string[]} */
    this.parts = [];
    this.path = "";
  }

  /** @param {string} text */
  measureText(text) {
    return this.measure.measureText(text);
  }

  get paint() {
    return `fill="${this.fillStyle}"` + (this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "");
  }

  get line() {
    return `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"` +
      (this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "") + (this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "");
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    if (width > 0 && height > 0) this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" ${this.paint}/>`);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  strokeRect(x, y, width, height) {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" ${this.line}/>`);
  }

  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    if (!text) return;
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : this.textAlign === "right" ? ' text-anchor="end"' : "";
    this.parts.push(`<text x="${round(x)}" y="${round(y + 4)}"${anchor} ${this.paint}>${escapeText(text)}</text>`);
  }

  beginPath() {
    this.path = "";
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.path += `M${round(x)} ${round(y)}`;
  }

  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.path += `${this.path ? "L" : "M"}${round(x)} ${round(y)}`;
  }

  /** @param {number} x @param {number} y @param {number} radius: a whole circle */
  arc(x, y, radius) {
    this.path += `M${round(x - radius)} ${round(y)}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
  }

  stroke() {
    this.parts.push(`<path d="${this.path}" ${this.line}/>`);
  }

  fill() {
    this.parts.push(`<path d="${this.path}" ${this.paint}/>`);
  }

  /** @param {number[]} dash */
  setLineDash(dash) {
    this.dash = dash;
  }

  /** @param {string} background */
  text(background) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"` +
      ` font-family="Inter, system-ui, sans-serif" font-size="12"><rect width="100%" height="100%" fill="${background}"/>${this.parts.join("")}</svg>\n`;
  }
}
