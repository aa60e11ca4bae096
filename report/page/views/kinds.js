// @ts-check
// The memory that tables and flames show: that of the moment shown, or a sum over the whole run.
import { makeChoice } from "../elements/dom.js";
import { formatBytes, formatCount } from "../elements/format.js";

/** @typedef {import("../data/model.js").Model} Model */

/** Words of the address with the texts of the choice. */
export const KINDS = [["now", "held at this moment"], ["left", "left at the end"], ["allocated", "allocated in all"],
  ["temporary", "temporary"]];

/** @typedef {"left" | "allocated" | "temporary"} WholeKind */

/**
 * The numbers of the chosen kind, by context.
 * @param {Model} model
 * @returns {import("../data/model.js").LiveSet}
 */
export function chosenSet(model) {
  const { columns, unit } = model;
  const bytes = { left: columns.context_left_bytes, allocated: columns.context_allocated_bytes, temporary: columns.context_temporary_bytes };
  const count = { left: columns.context_left_count, allocated: columns.context_allocated_count, temporary: columns.context_temporary_count };
  if (model.kind === "now") return model.now;
  const kind = /** @type {WholeKind} */ (model.kind);
  return { bytes: bytes[kind].map((one) => one * unit), count: count[kind] };
}

/** @param {Float64Array} numbers */
export function sumOf(numbers) {
  return numbers.reduce((sum, one) => sum + one, 0);
}

/**
 * The meaning of the numbers in a table or a flame; empty for a moment, which the bar above describes.
 * @param {Model} model
 * @param {import("../data/model.js").LiveSet} shown
 */
export function sayKind(model, shown) {
  const { page, kind } = model;
  if (kind === "now") return "";
  const amount = `${formatBytes(sumOf(shown.bytes))} in ${formatCount(sumOf(shown.count))} blocks`;
  const range = page.is_part ? "in the part of the run shown" : "over the whole run";
  if (kind === "left") {
    return `Left ${page.is_part ? "at the end of the part of the run shown" : "where the program\u2019s main code ended"}: ${amount}.`;
  }
  if (kind === "allocated") return `Allocated ${range}, while tracing was on: ${amount}. Every block counts once, however long it lived.`;
  const others = page.temporary_others === 1 ? "one other allocation" : `${formatCount(page.temporary_others)} other allocations`;
  return `Temporary ${range}: ${amount}, freed before the thread that made them made more than ${others}. Frees by another thread count too.`;
}

/**
 * @param {Model} model
 * @param {(kind: string) => void} setKind
 */
export function makeKindChoice(model, setKind) {
  return makeChoice("Memory that is", /** @type {[string, string][]} */ (KINDS), () => model.kind, setKind);
}
