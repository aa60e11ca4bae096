// @ts-check
// The frames that led to a line, behind a summary.
import { make } from "./dom.js";
import { formatCount } from "./format.js";

const MOST_FRAMES = 1000;

/** @param {string[]} frames the innermost first */
export function makeStack(frames) {
  if (frames.length < 2) return null;
  const details = make("details");
  const text = make("pre");
  text.tabIndex = 0;
  for (const frame of frames.slice(0, MOST_FRAMES)) text.append(make("bdi", "", frame.slice(0, 400)), "\n");
  if (frames.length > MOST_FRAMES) text.append(`${formatCount(frames.length - MOST_FRAMES)} more`);
  const callers = frames.length === 2 ? "1 caller" : `${formatCount(frames.length - 1)} callers`;
  details.append(make("summary", "more", callers), text);
  return details;
}
