// @ts-check
// The text about the part of the map that is chosen, or under the pointer: a block, or a hole
// and why its segment is not given back.
import { classOf, make, makeButton, makePlaceText, shortName } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds, formatSpan } from "../elements/format.js";
import { makeSource } from "../elements/source.js";
import { makeStack } from "../elements/stack.js";
import { ownersOf } from "../data/reserved.js";
import { poolName } from "../charts/segment_rows.js";
import { textsOfCause } from "./map_figures.js";

/** @typedef {import("../charts/segment_map.js").MapPart} MapPart */
/** @typedef {import("../data/allocator_history.js").AllocatorState} AllocatorState */
/** @typedef {import("../data/allocator_history.js").Segment} Segment */

const MOST_OWNERS = 12;
const MOST_PAST = 100;

/** @param {number} bytes */
const bothBytes = (bytes) => `${formatBytes(bytes)} (${formatCount(bytes)} bytes)`;
/** @param {number} address */
const hex = (address) => `0x${address.toString(16)}`;

/**
 * A block of the map, by its number.
 * @param {import("../data/model.js").Model} model
 * @param {number} block
 * @param {number} seconds now
 */
export function factsOf(model, block, seconds) {
  const { page, columns } = model;
  const context = columns.block_context[block];
  const made = columns.block_made[block] * page.tick_seconds;
  const lived = columns.block_lived[block];
  const phase = model.phaseAt(made);
  return {
    context,
    line: page.lines[columns.context_line[context]],
    category: model.nameOf("category", context),
    module: model.nameOf("module", context),
    operator: model.nameOf("operator", context),
    requested: columns.block_bytes[block] - columns.block_rounding[block],
    age: `${formatSpan(Math.max(0, seconds - made))}, made at ${formatSeconds(made)}${phase ? ", " + phase : ""}`,
    freed: lived ? `at ${formatSeconds(made + (lived - 1) * page.tick_seconds)}, after ${formatSpan((lived - 1) * page.tick_seconds)}` : "not before the program ended",
  };
}

/**
 * Rows of the tip.
 * @param {import("../data/model.js").Model} model
 * @param {AllocatorState} state
 * @param {MapPart} part
 * @param {number} seconds
 */
export function tipOfPart(model, state, part, seconds) {
  const stream = model.page.streams[part.segment.stream] || "unknown stream";
  if (part.block < 0) {
    const [name, meaning] = textsOfCause(part.cause);
    return [{ text: `${name}: ${bothBytes(part.bytes)} free` }, { text: meaning }, { text: `${stream}, ${hex(part.address)}` }];
  }
  const facts = factsOf(model, state.blocks[part.block], seconds);
  const rows = [{ text: shortName(facts.line.key), kind: classOf(facts.category) },
    { text: `${bothBytes(part.bytes)}, ${facts.category}` }];
  if (facts.module) rows.push({ text: shortName(facts.module) });
  rows.push({ text: `age ${facts.age}` }, { text: `${stream}, ${hex(part.address)}` });
  if (state.waiting[part.block]) rows.push({ text: textsOfCause("waiting")[1] });
  return rows;
}

export class MapDetails {
  /**
   * @param {import("../data/model.js").Model} model
   * @param {(text: string) => void} showLine in the tab of lines
   */
  constructor(model, showLine) {
    this.model = model;
    this.showLine = showLine;
    this.isEmpty = false;
    this.box = make("div", "panel");
    this.box.setAttribute("aria-live", "polite");
  }

  /**
   * @param {AllocatorState} state
   * @param {MapPart | null} part
   * @param {number} seconds
   */
  fill(state, part, seconds) {
    if (!part) {
      if (this.isEmpty) return;
      this.isEmpty = true;
      this.box.replaceChildren(make("h2", "", "A block or a hole"), make("p", "note", "Choose one in the map: with the pointer, or with the arrow keys. Its description appears here, with the reason why its segment is not given back."));
      return;
    }
    this.isEmpty = false;
    this.box.replaceChildren(...(part.block >= 0 ? this.makeBlock(state, part, seconds) : this.makeHole(part)), ...this.makeSegment(state, part.segment));
  }

  /** @param {AllocatorState} state @param {MapPart} part @param {number} seconds */
  makeBlock(state, part, seconds) {
    const { model } = this;
    const facts = factsOf(model, state.blocks[part.block], seconds);
    const title = make("h2");
    title.append(makePlaceText(facts.line.key));
    const rows = [["Size", bothBytes(part.bytes)], ["Requested", bothBytes(facts.requested)],
      ["Category", facts.category + (state.waiting[part.block] ? ", freed, in use by another stream" : "")], ["Module", facts.module], ["Operator", facts.operator], ["Age", facts.age],
      ["Freed", facts.freed], ["Stream", model.page.streams[part.segment.stream] || "unknown stream"], ["Address", hex(part.address)]];
    const show = makeButton("Show this line in Lines", () => this.showLine(facts.line.key), "link");
    const more = [makeSource(model.page, facts.line), makeStack(model.stackOf(facts.context))].filter((one) => one);
    return [title, makeFacts(rows), show, ...more, this.makePast(part.address)];
  }

  /**
   * The blocks that lay over an address, at any time that the page has; searched when the list opens.
   * @param {number} address
   */
  makePast(address) {
    const { page, columns } = this.model;
    const details = make("details", "past");
    const list = make("ul", "vias");
    details.append(make("summary", "more", "all blocks at this address"), list);
    details.ontoggle = () => {
      const blocks = [...columns.block_address.keys()].filter((i) => columns.block_address[i] <= address && address < columns.block_address[i] + columns.block_bytes[i]);
      list.replaceChildren(...blocks.slice(-MOST_PAST).map((block) => {
        const lived = columns.block_lived[block];
        const from = formatSeconds(columns.block_made[block] * page.tick_seconds, 6);
        const item = make("li", "", `${formatBytes(columns.block_bytes[block])} from ${from}${lived ? ` for ${formatSpan((lived - 1) * page.tick_seconds)}` : ""}, `);
        item.append(makePlaceText(page.lines[columns.context_line[columns.block_context[block]]].key));
        return item;
      }));
      if (blocks.length > MOST_PAST) list.prepend(make("li", "", `${formatCount(blocks.length - MOST_PAST)} earlier ones`));
    };
    return details;
  }

  /** @param {MapPart} part */
  makeHole(part) {
    const [name, meaning, change] = textsOfCause(part.cause);
    return [make("h2", "", `${formatBytes(part.bytes)} free: ${name}`), make("p", "", `${meaning} ${change}`),
      makeFacts([["Size", bothBytes(part.bytes)], ["Stream", this.model.page.streams[part.segment.stream] || "unknown stream"], ["Address", hex(part.address)]])];
  }

  /**
   * Why it is not given back.
   * @param {AllocatorState} state
   * @param {Segment} segment
   */
  makeSegment(state, segment) {
    const { page, columns } = this.model;
    const owners = ownersOf(state, segment, columns);
    const waiting = state.waiting.subarray(segment.from, segment.to).some((one) => one === 1);
    const title = make("h2", "", segment.isExpandable ? "Its expandable segment" : "Its segment");
    title.append(make("small", "", `${formatBytes(segment.bytes)} at ${hex(segment.address)}, ${poolName(segment)}`));
    const list = make("ul", "vias owners");
    for (const { line, bytes, count } of owners.slice(0, MOST_OWNERS)) {
      const item = make("li", "", `${formatBytes(bytes)} in ${formatCount(count)} ${count === 1 ? "block" : "blocks"}, `);
      item.append(makePlaceText(page.lines[line].key));
      item.dataset.bytes = String(bytes);
      list.append(item);
    }
    if (owners.length > MOST_OWNERS) list.append(make("li", "", `and ${formatCount(owners.length - MOST_OWNERS)} more lines`));
    return [title, make("p", "why", sayWhy(segment, owners.length, waiting)), list];
  }
}

/**
 * @param {Segment} segment
 * @param {number} count of lines
 * @param {boolean} hasWaiting
 */
function sayWhy(segment, count, hasWaiting) {
  if (segment.isPoolUsed) return "Not given back while its pool is in use, whatever lies in it.";
  const waits = hasWaiting ? " Blocks that other streams still use come back by themselves." : "";
  if (!count) return (hasWaiting ? "No live block is in it." : "No block is in it: torch.cuda.empty_cache() gives it back.") + waits;
  const owners = count === 1 ? "this line" : `these ${formatCount(count)} lines`;
  const unit = segment.isExpandable ? ` Units of ${formatBytes(segment.unit)} without a block can go back, the others cannot.` : "";
  return `Not given back because of live blocks of ${owners}.${unit}${waits}`;
}

/** @param {string[][]} rows */
function makeFacts(rows) {
  const list = make("dl");
  for (const [name, value] of rows) {
    if (value) {
      const cell = make("dd");
      cell.append(make("bdi", "", shortName(value)));
      list.append(make("dt", "", name), cell);
    }
  }
  return list;
}
