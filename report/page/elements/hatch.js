// @ts-check
// Patterns for the free bytes of the map: one for each cause, which differ without colour, too.

const TILE = 8;
// Lines of a pattern, in eighths of its side.
/** @type {Record<string, number[][]>} */
const STROKES = {
  whole: [],
  pinned: [[0, 8, 8, 0]],
  unit: [[0, 4, 8, 4]],
  partial: [[4, 0, 4, 8]],
  private: [[0, 8, 8, 0], [0, 0, 8, 8]],
  waiting: [[0, 0, 8, 8], [-4, 4, 4, 12], [4, -4, 12, 4]],
};

/**
 * @param {CanvasRenderingContext2D} pen that will use it
 * @param {string} cause
 * @param {any} colours
 * @param {boolean} [isOver] without a ground, over an existing drawing
 * @returns {CanvasPattern}
 */
export function makeHatch(pen, cause, colours, isOver) {
  const tile = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  tile.width = tile.height = Math.round(TILE * ratio);
  const brush = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  brush.scale(tile.width / TILE, tile.width / TILE);
  if (!isOver) {
    brush.fillStyle = cause === "whole" ? colours.background : colours.frame;
    brush.fillRect(0, 0, TILE, TILE);
  }
  brush.strokeStyle = isOver ? colours.background : colours.muted;
  brush.lineWidth = isOver ? 2 : 1.2;
  for (const [x, y, toX, toY] of STROKES[cause] || []) {
    brush.beginPath();
    brush.moveTo(x, y);
    brush.lineTo(toX, toY);
    brush.stroke();
  }
  const pattern = /** @type {CanvasPattern} */ (pen.createPattern(tile, "repeat"));
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/**
 * Paints a part of a bar or of a legend: a cause, or a block.
 * @param {HTMLCanvasElement} canvas
 * @param {string} cause
 * @param {any} colours
 */
export function paintCause(canvas, cause, colours) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = cause === "live" || cause === "waiting" ? colours.accent : makeHatch(pen, cause, colours);
  pen.fillRect(0, 0, canvas.width, canvas.height);
  if (cause === "waiting") {
    pen.fillStyle = makeHatch(pen, cause, colours, true);
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }
  if (cause === "whole") {
    pen.strokeStyle = colours.muted;
    pen.strokeRect(0.5, 0.5, canvas.clientWidth - 1, canvas.clientHeight - 1);
  }
}
