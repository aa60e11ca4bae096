// @ts-check
// Below and across the timeline: phases, steps, seconds; marks and refused requests.
import { fitText } from "../elements/dom.js";
import { formatSeconds } from "../elements/format.js";

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
    const left = Math.max(0, line.xOf(model.pointAt(one.begin_seconds)));
    const right = Math.min(width, line.xOf(model.pointAt(one.end_seconds)));
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
  const span = (line.to >= model.pointCount ? model.end : model.begin[line.to]) - model.begin[line.from];
  const digits = span < 0.004 ? 5 : span < 0.04 ? 4 : 3;
  pen.fillStyle = colours.muted;
  for (let part = 0; part <= 4; part++) {
    const x = (part / 4) * width;
    const point = line.pointOf(Math.min(x, width - 1));
    const text = formatSeconds(part === 4 && line.to >= model.pointCount ? model.end : model.begin[point], digits);
    const room = pen.measureText(text).width;
    pen.fillText(text, Math.min(width - room, Math.max(0, x - room / 2)), y + 46);
  }
}
