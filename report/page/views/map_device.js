// @ts-check
// Beside the map: the users of the whole device at that moment, and the needs of the run under other
// settings of torch's allocator. Both are figures of the engine.
import { make, makePlaceText } from "../elements/dom.js";
import { formatBytes, formatCount, formatSeconds, formatShare } from "../elements/format.js";
import { fillRows, makeBytes, makeParts } from "../elements/table.js";

const MOST_SETTINGS = 10;
/** Tokens of categories: tests check their distances. */
const PART_KINDS = { torch: "unused", library: "temporary", pool: "cache", graphs: "optimizer-state", context: "kept", rounding: "activation", others: "buffer" };
const UNEXPLAINED = "communication";

export class LedgerPanel {
  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.box = make("div");
  }

  /**
   * @param {any} ledger as `peakline ledger --json` has it, of the moment; null: the page has none
   * @param {string} name of the moment
   * @param {number | null} seconds of the moment shown, if it is another one
   */
  fill(ledger, name, seconds) {
    const title = make("h2", "", "The whole device");
    if (!ledger) {
      this.box.replaceChildren(title, make("p", "note", sayNoLedger(this.model.page)));
      return;
    }
    title.append(make("small", "", `${formatBytes(ledger.device_used_bytes)} in use of ${formatBytes(ledger.device_total_bytes)}; ${name}`));
    const parts = ledger.parts.map((/** @type {any} */ part) => ({ ...part, kind: partKind(part) }));
    parts.push({ name: "unexplained", kind: UNEXPLAINED, bytes: ledger.unexplained_bytes, lines: [] });
    const [bar, legend] = makeParts(parts, ledger.device_used_bytes);
    legend.classList.add("ledger");
    this.box.replaceChildren(title, bar, legend, ...this.makeLines(parts), make("p", "note",
      seconds === null ? "Of any other moment: peakline ledger --at SECONDS FILE."
        : `The page has the ledger of some moments; this is the nearest one. Of the moment shown: peakline ledger --at ${seconds.toFixed(6)} FILE.`));
  }

  /** @param {any[]} parts */
  makeLines(parts) {
    return parts.filter((part) => part.lines.length).map((part) => {
      const details = make("details");
      details.append(make("summary", "more", `${part.name}: ${formatBytes(part.bytes)}, ${formatCount(part.count)} ${part.count === 1 ? "request" : "requests"}`));
      const list = make("ul", "vias");
      for (const line of part.lines) {
        const item = make("li", "", formatBytes(line.bytes) + " ");
        item.append(makePlaceText(line.location));
        list.append(item);
      }
      details.append(list);
      return details;
    });
  }
}

/** @param {any} part of a ledger */
function partKind(part) {
  if (part.name === "torch live") return "parameter";
  return PART_KINDS[/** @type {keyof typeof PART_KINDS} */ (part.kind)] || "kept";
}

/** @param {any} page */
function sayNoLedger(page) {
  return page.map.moments.some((/** @type {any} */ one) => one.ledger)
    ? "" : "What libraries, the context and others hold: peakline ledger FILE, where the trace has it. The page of a long run leaves it out.";
}

/**
 * The ranked settings of `peakline whatif --search`.
 * @param {any} whatif as `peakline whatif --json` has it; null: the run is too long for a page
 */
export function makeWhatIf(whatif) {
  const box = make("div", "whatif");
  const title = make("h2", "", "Under other settings");
  box.append(title);
  if (!whatif) {
    box.append(make("p", "note", "What the run would need under other settings of torch\u2019s allocator: peakline whatif --search FILE. The page of a long run leaves it out."));
    return box;
  }
  if (!whatif.verified || !whatif.recorded) {
    box.append(make("p", "note", `Nothing is predicted: the model did not make this run again. ${whatif.first_difference || ""}`.slice(0, 600)));
    return box;
  }
  title.append(make("small", "", `of torch\u2019s allocator: this run made again, all ${formatCount(whatif.segment_events)} events of segments were equal`));
  const heads = [["Reserved at most", "right"], ["Change", "right"], ["Calls", "right wide"], ["Retries", "right wide"], ["PYTORCH_CUDA_ALLOC_CONF", ""]];
  const base = whatif.recorded.reserved_peak_bytes;
  const table = make("table", "rows");
  const runs = [whatif.recorded, ...whatif.runs.slice(0, MOST_SETTINGS)];
  fillRows(table, heads, runs, (run, row) => makeSetting(run, base, run === whatif.recorded, row));
  box.append(table, make("p", "note", "Calls: how often the device is asked for memory or given some back. Holds while the program asks for the same blocks in the same order. peakline whatif --set TEXT FILE tries another one."));
  return box;
}

/**
 * @param {any} run
 * @param {number} base bytes
 * @param {boolean} isRecorded
 * @param {HTMLElement} row
 */
function makeSetting(run, base, isRecorded, row) {
  const text = isRecorded ? "as recorded" + (run.settings ? `: ${run.settings}` : "") : run.settings || "the default";
  row.dataset.bytes = String(run.reserved_peak_bytes);
  row.dataset.settings = run.settings;
  const more = run.reserved_peak_bytes - base;
  const change = make("td", "right", more ? `${more > 0 ? "+" : "\u2212"}${formatBytes(Math.abs(more))}` : "");
  change.title = more ? `${formatShare(Math.abs(more) / base)} of the recorded run` : "";
  if (more) change.classList.add(more > 0 ? "is-more" : "is-less");
  const place = make("td", "place");
  place.append(make("bdi", "", text.slice(0, 400)));
  if (run.oom) place.append(" ", make("b", "", "out of memory"), ` at ${formatSeconds(run.oom.seconds)}: `, makePlaceText(run.oom.location));
  return [makeBytes(run.reserved_peak_bytes), change, make("td", "right wide", formatCount(run.device_allocs + run.device_frees)), make("td", "right wide", formatCount(run.retries)), place];
}
