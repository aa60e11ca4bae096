// @ts-check
// A single block in words: what it is, where and when it was made and freed, its code and its stack.
import { make, makePlaceText, shortName } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { makeCode, makeSource } from "../elements/source.js";
import { makeStack } from "../elements/stack.js";

/**
 * A block with its texts.
 * @typedef {{block: number, bytes: number, name: string, type: string, category: string, module: string, operator: string,
 *   line: string, made: number | null, saved: number | null, savedBy: string, freed: number | null, freedBy: string}} TensorRow
 */

/**
 * @param {import("../data/model.js").Model} model
 * @param {number} block
 * @returns {TensorRow}
 */
export function rowOfBlock(model, block) {
  const { tensors } = model;
  const context = tensors.columns.tensor_context[block];
  const name = (/** @type {string} */ key) => (model.names[key] ? model.nameOf(key, context) : "");
  return { block, bytes: tensors.bytes[block], name: tensors.nameOf(block), type: tensors.typeOf(block), category: name("category"),
    module: name("module"), operator: name("operator"), line: model.page.lines[model.columns.context_line[context]].key,
    made: tensors.madeAt(block), saved: tensors.savedAt(block), savedBy: tensors.savedBy(block), freed: tensors.freedAt(block), freedBy: tensors.freedBy(block) };
}

/** @param {TensorRow} row */
export function whatOf(row) {
  return row.name || (row.operator && row.operator !== "unknown" ? `${row.category} of ${row.operator}` : row.category);
}

/**
 * Source, or the one line of it that the page has, and stack.
 * @param {import("../data/model.js").Model} model
 * @param {number} block
 */
export function makeCodeOfBlock(model, block) {
  const context = model.tensors.columns.tensor_context[block];
  const line = model.page.lines[model.columns.context_line[context]];
  const parts = [makeSource(model.page, line) || makeCode(line), makeStack(model.stackOf(context))];
  return parts.filter((part) => part).map((part) => Object.assign(/** @type {any} */ (part), { open: true }));
}

/**
 * @param {import("../data/model.js").Model} model
 * @param {number} block
 */
export function makeBlockPanel(model, block) {
  const row = rowOfBlock(model, block);
  const panel = make("div", "panel block");
  const title = make("h2");
  title.append(formatBytes(row.bytes), " ", make("bdi", "", shortName(whatOf(row))));
  const facts = make("p", "facts");
  const list = [`${formatCount(row.bytes)} bytes`, row.type, row.name ? row.category : "", row.module !== "none" ? row.module : ""].filter((text) => text);
  list.forEach((text, i) => facts.append(i ? " \u00b7 " : "", make("bdi", "", shortName(text))));
  const life = make("p", "facts");
  life.append("Made at ", makePlaceText(row.line), row.made === null ? ", before the time shown" : `, ${sayWhen(model, row.made)}`, ". ",
    row.saved === null ? "" : `Saved for the backward pass by ${row.savedBy}, ${sayWhen(model, row.saved)}. `,
    row.freed === null ? "Not freed." : `Freed ${sayWhen(model, row.freed)}`);
  if (row.freed !== null) life.append(...(row.freedBy ? [" (", make("bdi", "", shortName(row.freedBy)), ")"] : []), ".");
  panel.append(title, facts, life, ...makeCodeOfBlock(model, block));
  return panel;
}

/**
 * @param {import("../data/model.js").Model} model
 * @param {number} seconds
 */
function sayWhen(model, seconds) {
  const phase = model.phaseAt(seconds);
  return formatSeconds(seconds) + (phase ? `, ${phase}` : "");
}
