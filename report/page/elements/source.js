// @ts-check
// A few lines of the program around a line, where the page has them.
import { make } from "./dom.js";

/**
 * The code of a line.
 * @param {{code?: string, is_changed?: boolean}} line
 */
export function makeCode(line) {
  if (line.is_changed) return make("div", "more", "the file was changed after the program began");
  return line.code ? make("code", "code", line.code) : null;
}

/**
 * @param {any} page
 * @param {{path?: string, line?: number}} line of `lines`, or of a refused request
 */
export function makeSource(page, line) {
  const source = page.sources && page.sources[`${line.path}:${line.line}`];
  if (!source) return null;
  const details = make("details", "source");
  const text = make("pre");
  text.tabIndex = 0;
  source.lines.forEach((/** @type {string} */ one, /** @type {number} */ i) => {
    const number = source.first + i;
    text.append(make(number === line.line ? "b" : "span", "", `${String(number).padStart(5)}  ${one}\n`));
  });
  details.append(make("summary", "more", "source"), text);
  return details;
}
