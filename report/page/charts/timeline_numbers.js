// @ts-check
// The numbers of the series in the timeline: colours alone do not keep them apart.

/** @typedef {{bytes: number, below: number, column: number}} Spot `bytes`: least height around it */

const SIZE = 14;

/**
 * Each where its band is high for the width of a number, else where it is highest.
 * @param {import("./timeline.js").Timeline} line
 * @param {import("../data/series.js").Series} series
 * @param {CanvasRenderingContext2D} pen
 * @param {any} colours
 * @param {(bytes: number) => number} yOf
 */
export function drawNumbers(line, series, pen, colours, yOf) {
  const parts = line.columns.map((_, column) => line.partsOf(column));
  /** @type {number[][]} */
  const taken = [];
  series.colours.forEach((colour, layer) => {
    const fits = (/** @type {Spot} */ spot) => yOf(0) - yOf(spot.bytes) >= SIZE;
    const wide = findSpot(line, parts, layer, SIZE / 2);
    const spot = fits(wide) ? wide : findSpot(line, parts, layer, 0);
    const { x, next } = line.columns[spot.column];
    const left = Math.min(line.width - SIZE, Math.max(0, (x + next - SIZE) / 2));
    const middle = yOf(spot.below + parts[spot.column][layer] / 2);
    const hides = taken.some(([otherLeft, other]) => Math.abs(otherLeft - left) < SIZE && Math.abs(other - middle) < SIZE);
    if (!fits(spot) || hides) return;
    taken.push([left, middle]);
    pen.fillStyle = colours.series[colour];
    pen.fillRect(left, middle - SIZE / 2, SIZE, SIZE);
    pen.fillStyle = colours.onSeries[colour];
    pen.fillText(String(colour + 1), left + 4, middle + 0.5);
  });
}

/**
 * @param {import("./timeline.js").Timeline} line
 * @param {number[][]} parts of every column
 * @param {number} layer
 * @param {number} reach pixels to both sides
 */
function findSpot({ columns }, parts, layer, reach) {
  /** @type {Spot} */
  const spot = { bytes: 0, below: 0, column: 0 };
  columns.forEach(({ x, next }, column) => {
    let bytes = parts[column][layer];
    for (let i = column - 1; i >= 0 && columns[i].next > x - reach && bytes > spot.bytes; i--) bytes = Math.min(bytes, parts[i][layer]);
    for (let i = column + 1; i < columns.length && columns[i].x < next + reach && bytes > spot.bytes; i++) bytes = Math.min(bytes, parts[i][layer]);
    if (bytes <= spot.bytes) return;
    const below = parts[column].slice(0, layer).reduce((sum, one) => sum + one, 0);
    Object.assign(spot, { bytes, below, column });
  });
  return spot;
}
