// @ts-check
// Below and across the timeline: phases, steps, seconds; marks and refused requests.
import { fitText } from "../elements/dom.js";
import { formatSeconds, roundUp } from "../elements/format.js";

/**
 * Marks of the program, and requests that the device refused.
 * @param {import("./timeline.js").Timeline} line
 * @param {CanvasRenderingContext2D} pen
 * @param {any} colours
 */
export function drawMarks(line, pen, colours) {
  const { page } = line.model;
  const marks = page.phases.notes.map((/** @type {any} */ one) => ({ at: one.seconds, text: one.text }));
  for (const one of page.refused) marks.push({ at: one.seconds, text: "out of memory" });
  let free = 0;
  for (const { at, text } of marks.sort((/** @type {any} */ a, /** @type {any} */ b) => a.at - b.at)) {
    const point = line.model.pointAt(at);
    if (point < line.from || point >= line.to) continue;
    const x = Math.round(line.xOf(point));
    pen.fillStyle = colours.muted;
    pen.fillRect(x, 0, 1, line.look.height);
    const shown = fitText(pen, text, Math.min(140, line.width - x - 8));
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
 * @param {import("./timeline.js").Timeline} line
 * @param {CanvasRenderingContext2D} pen
 * @param {any} colours
 */
export function drawRibbon(line, pen, colours) {
  const { model, width, look } = line;
  const y = look.height + 4;
  const box = (/** @type {any} */ one) => {
    // Found once: a run may have 100,000 steps.
    one.points ||= [model.pointAt(one.begin_seconds), model.pointAt(one.end_seconds)];
    const left = Math.max(0, line.xOf(one.points[0]));
    const right = Math.min(width, line.xOf(one.points[1]));
    return { left, right };
  };
  drawPhases(model.intervals, box, pen, colours, y);
  drawSteps(model.page.phases.steps, box, pen, colours, { y: y + 18, width });
  const { begin, end } = { begin: line.secondsAt(0), end: line.secondsAt(width) };
  const digits = end - begin < 0.004 ? 5 : end - begin < 0.04 ? 4 : 3;
  for (let part = 0; part <= 4; part++) {
    const x = (part / 4) * width;
    const text = formatSeconds(line.secondsAt(x), digits);
    const room = pen.measureText(text).width;
    pen.fillStyle = colours.line;
    pen.fillRect(Math.min(width - 1, x), y + 34, 1, 4);
    pen.fillStyle = colours.muted;
    pen.fillText(text, Math.min(width - room, Math.max(0, x - room / 2)), y + 46);
  }
}

/**
 * Phases that are too narrow to be seen are one band.
 * @param {any[]} intervals
 * @param {(one: any) => {left: number, right: number}} box
 * @param {CanvasRenderingContext2D} pen
 * @param {any} colours
 * @param {number} y
 */
function drawPhases(intervals, box, pen, colours, y) {
  let band = { left: 0, right: -10 };
  const endBand = () => {
    pen.fillStyle = colours.soft;
    if (band.right - band.left >= 1) pen.fillRect(band.left, y, band.right - band.left, 18);
  };
  for (const one of intervals) {
    const { left, right } = box(one);
    if (right <= left) continue;
    if (right - left < 1) {
      if (left > band.right + 2) {
        endBand();
        band = { left, right };
      } else band.right = right;
      continue;
    }
    pen.fillStyle = one.name === "backward" ? colours.frame : colours.soft;
    pen.fillRect(left, y, Math.max(1, right - left - 1), 18);
    pen.fillStyle = colours.text;
    pen.fillText(fitText(pen, one.name, right - left - 10), left + 5, y + 10);
  }
  endBand();
}

/**
 * Every step has a tick and a name, or every 2nd, 5th, 10th ... one has.
 * @param {any[]} steps
 * @param {(one: any) => {left: number, right: number}} box
 * @param {CanvasRenderingContext2D} pen
 * @param {any} colours
 * @param {{y: number, width: number}} place
 */
function drawSteps(steps, box, pen, colours, { y, width }) {
  const shown = steps.map((one) => ({ step: one.step, ...box(one) })).filter(({ left, right }) => right > left);
  if (!shown.length) return;
  const each = (shown[shown.length - 1].right - shown[0].left) / shown.length;
  const room = pen.measureText(`step ${shown[shown.length - 1].step}`).width + 12;
  const every = roundUp(room / each);
  let free = 0;
  for (const { step, left } of shown) {
    if (step % every || left < free) continue;
    pen.fillStyle = colours.line;
    pen.fillRect(left, y, 1, 16);
    pen.fillStyle = colours.muted;
    const text = `step ${step}`;
    if (left + 5 + pen.measureText(text).width <= width) pen.fillText(text, left + 5, y + 10);
    free = left + room - 4;
  }
}
