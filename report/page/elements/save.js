// @ts-check
// Saves something that the page has made as a file. Nothing leaves this machine.
import { make, makeButton } from "./dom.js";
import { SvgPen } from "./svg_pen.js";

const TITLE_HEIGHT = 44;  // CSS pixels, above a picture: what it is of
const LEGEND_ROW = 20;

/**
 * @param {string} name
 * @param {Blob} blob
 */
export function save(name, blob) {
  const link = make("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * Buttons that save a chart with its title and legend.
 * @param {{name: string, canvas: any, draw: () => void, colours: () => any, legend?: HTMLElement, isVector?: boolean}} chart
 * `draw` draws it on the canvas, or to the pen that `canvas.pen` is
 */
export function makeSaveButtons(chart) {
  const kinds = chart.isVector === false ? ["PNG"] : ["PNG", "SVG"];
  return kinds.map((kind) => {
    const button = makeButton(`Save ${kind}`, () => (kind === "PNG" ? savePng(chart) : saveSvg(chart)));
    button.classList.add("save");
    return button;
  });
}

/**
 * Title above and legend below, on a canvas or as SVG.
 * @param {any} pen
 * @param {any} chart
 * @param {number} width
 * @param {number} below where the legend begins
 */
function drawFrame(pen, chart, width, below) {
  const colours = chart.colours();
  pen.fillStyle = colours.text;
  pen.fillText(document.title, 10, 18);
  let x = 10;
  let y = below + LEGEND_ROW / 2;
  for (const item of chart.legend ? chart.legend.querySelectorAll("li") : []) {
    const text = item.textContent || "";
    const room = pen.measureText(text).width + 40;
    if (x + room > width && x > 10) [x, y] = [10, y + LEGEND_ROW];
    pen.fillStyle = getComputedStyle(item.querySelector("i")).backgroundColor;
    pen.fillRect(x, y - 5, 10, 10);
    pen.fillStyle = colours.text;
    pen.fillText(text, x + 16, y);
    x += room;
  }
  return y + LEGEND_ROW;
}

/** @param {any} chart */
function savePng(chart) {
  const { canvas } = chart;
  const ratio = canvas.width / Math.max(1, canvas.clientWidth);
  const width = canvas.clientWidth;
  const picture = make("canvas");
  const paint = (/** @type {number} */ height) => {
    picture.width = canvas.width;
    picture.height = Math.round(height * ratio);
    const pen = picture.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px Inter, system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.fillStyle = chart.colours().background;
    pen.fillRect(0, 0, width, height);
    pen.drawImage(canvas, 0, TITLE_HEIGHT, width, canvas.height / ratio);
    return drawFrame(pen, chart, width, TITLE_HEIGHT + canvas.height / ratio + 8);
  };
  paint(paint(TITLE_HEIGHT));
  picture.toBlob((/** @type {Blob | null} */ blob) => blob && save(`${chart.name}.png`, blob));
}

/** @param {any} chart */
function saveSvg(chart) {
  const { canvas } = chart;
  const pen = new SvgPen(canvas.getContext("2d"), canvas.clientWidth);
  canvas.pen = pen;
  chart.draw();
  canvas.pen = null;
  const below = pen.height;
  pen.parts = [`<g transform="translate(0 ${TITLE_HEIGHT})">`, ...pen.parts, "</g>"];
  pen.height = drawFrame(pen, chart, pen.width, TITLE_HEIGHT + below + 8);
  chart.draw();
  save(`${chart.name}.svg`, new Blob([pen.text(chart.colours().background)], { type: "image/svg+xml" }));
}
