// @ts-check
// The tab of ranks: all files over each other by step; the peaks of every file by phase, as a heat
// map and as a table.
import { byId, make, makeButton, makeChoice, shortName } from "../elements/dom.js";
import { addressOfFile, markShown, phaseOfPeak, textOfPhase, readFiles, unevenRows } from "./files.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { HeatMap } from "../charts/heat_map.js";
import { RunsByStep } from "./runs_by_step.js";
import { fillRows, makeAmount, makeBytes, makePlace } from "../elements/table.js";

const MOST_PHASES_SHOWN = 12;
const MOST_OUTLIERS_SHOWN = 5;

export class RanksView {
  /** @type {RunsByStep} */ runs;

  /**
   * @param {import("../data/model.js").Model} model
   * @param {(address: string) => void} open shows a file of the page on all tabs
   */
  constructor(model, open) {
    this.model = model;
    this.open = open;
    /** @type {HeatMap | null} */
    this.map = null;
    /** @type {any} */
    this.colours = null;
    readFiles()?.then((data) => this.build(data));
  }

  /** @param {import("./files.js").Files} data */
  build(data) {
    const files = data.files;
    markShown(data, this.model);
    const phases = [...new Set(files.flatMap((file) => file.phases.map((one) => one.name)))].slice(0, MOST_PHASES_SHOWN);
    this.canvas = make("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Peaks by file and phase. The table below has the figures.");
    const columns = [{ name: "peak", cells: files.map((file) => ({ bytes: file.peak_bytes, tip: tipOf(file.peak_bytes, file.peak_seconds, phaseOfPeak(file)) })) },
      ...phases.map((name) => ({ name, cells: files.map((file) => cellOf(file, name)) }))];
    this.map = new HeatMap(this.canvas, files.map((file) => file.label), columns);
    const tools = make("div", "tools");
    tools.append(make("span", "facts", "Shade from zero to the most of"), makeChoice("Shade by", [["column", "each column"], ["all", "all"]],
      () => (/** @type {HeatMap} */ (this.map).perColumn ? "column" : "all"), (word) => {
        /** @type {HeatMap} */ (this.map).perColumn = word === "column";
        this.show(this.colours);
      }));
    this.runs = new RunsByStep("ranks", data);
    const isByStep = this.runs.choose(files);
    byId("ranks").replaceChildren(...sayPeaks(data), ...sayJob(data), ...(isByStep ? [make("h2", "", "By step"), this.runs.box] : []), tools, this.canvas, makePeaksTable(files, phases, this.open),
      make("p", "note", sayPeaksTable(files)), ...makeUneven(data, this.model));
    if (this.colours) this.show(this.colours);
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    if (!this.map || !this.canvas.clientWidth) return;
    this.map.draw(colours);
    this.runs.show(colours);
  }
}

/**
 * @param {number} bytes
 * @param {number} seconds
 * @param {string} phase
 */
function tipOf(bytes, seconds, phase) {
  return [`${formatCount(bytes)} bytes`, `at ${formatSeconds(seconds)}${phase ? ", " + phase : ""}`];
}

/**
 * @param {import("./files.js").FileOfPage} file
 * @param {string} name
 */
function cellOf(file, name) {
  const phase = file.phases.find((one) => one.name === name);
  return phase ? { bytes: phase.bytes, tip: tipOf(phase.bytes, phase.seconds, textOfPhase(phase)) } : null;
}

/**
 * The least, the median and the highest peak in words.
 * @param {import("./files.js").Files} data
 */
function sayPeaks({ files, peaks }) {
  const least = files[peaks.least];
  const most = files[peaks.most];
  const title = make("h2", "big");
  title.append(makeAmount(most.peak_bytes), " in ", make("bdi", "", shortName(most.label)));
  const phase = phaseOfPeak(most);
  const lead = make("p", "lead");
  lead.append(`The highest peak of ${formatCount(files.length)}: at ${formatSeconds(most.peak_seconds)}${phase ? ", " + phase : ""}. `,
    "The least is ", makeAmount(least.peak_bytes), " (", make("bdi", "", shortName(least.label)), "), the median ", makeAmount(peaks.median_bytes), ".");
  const shown = files.find((one) => one.is_shown);
  const sub = make("p", "sub");
  if (shown) sub.append("The other tabs show ", make("bdi", "", shortName(shown.label)), ".");
  return [title, sub, lead];
}

/**
 * The missing ranks, and the outliers with their reasons.
 * @param {import("./files.js").Files} data
 */
function sayJob(data) {
  if (!data.job) return [];
  const lines = data.job.missing ? [make("p", "lead", `Missing: ${data.job.missing} left no trace.`)] : [];
  for (const one of data.job.outliers.slice(0, MOST_OUTLIERS_SHOWN)) {
    const line = make("p", "lead outlier");
    line.append(make("bdi", "", one.label), " stands out: ", makeAmount(Math.abs(one.bytes_above)), ` ${one.bytes_above > 0 ? "more" : "less"} than the median of its peers`);
    for (const [key, bytes] of one.rows) line.append("; ", `${bytes > 0 ? "+" : "\u2212"}${formatBytes(Math.abs(bytes))} at `, make("bdi", "", shortName(key)));
    line.append(".");
    lines.push(line);
  }
  return lines;
}

/**
 * The table of the memory of each line, module, operator or category over all files.
 * @param {import("./files.js").Files} data
 * @param {import("../data/model.js").Model} model
 */
function makeUneven(data, model) {
  const table = make("table", "rows uneven");
  let by = "line";
  const fill = () => {
    const rows = unevenRows(data, by);
    const heads = [["Least", "right"], ["Median", "right"], ["Most", "right"], ["Most in", "wide"], [model.titleOf(by), ""]];
    fillRows(table, heads, rows, (row) => {
      const heaviest = make("td", "wide");
      heaviest.append(make("bdi", "", shortName(row.heaviest)));
      return [makeBytes(row.least), makeBytes(row.median), makeBytes(row.most), heaviest, makePlace(row.key)];
    });
  };
  const tools = make("div", "tools");
  tools.append(make("span", "facts", "At the peak of each, the most uneven first"), makeChoice("Compare", Object.keys(data.uneven).map((key) => [key, model.titleOf(key)]), () => by, (key) => {
    by = key;
    fill();
  }));
  fill();
  return [tools, table];
}

/** @param {import("./files.js").FileOfPage[]} files */
function sayPeaksTable(files) {
  const other = files.find((file) => !file.is_shown);
  const more = other && !files.some(addressOfFile) ? ` To open another one: peakline html --each with the same files, or peakline html ${shortName(other.file)}` : "";
  return `Every figure is an exact peak. Blank: the phase did not come in that file.${more}`;
}

/**
 * @param {import("./files.js").FileOfPage[]} files
 * @param {string[]} phases
 * @param {(address: string) => void} open
 */
function makePeaksTable(files, phases, open) {
  const table = make("table", "rows");
  const dimensions = [...new Set(files.flatMap((file) => Object.keys(file.coordinates)))];
  const heads = [["File", ""], ["Peak", "right"], ...dimensions.map((name) => [name, "right wide"]), ["At", "right wide"], ["Phase", "wide"], ...phases.map((name) => [name, "right wide"])];
  fillRows(table, heads, files, (file, row) => {
    row.className = file.is_shown ? "on" : "";
    const name = makePlace(file.label);
    name.title = file.file;
    if (file.host) name.append(" ", make("span", "", `${file.host} ${file.pid}`));
    const address = addressOfFile(file);
    if (address && !file.is_shown) name.append(" ", makeButton("open", () => open(address), "link"));
    return [name, makeBytes(file.peak_bytes), ...dimensions.map((one) => make("td", "right wide", one in file.coordinates ? String(file.coordinates[one]) : "")),
      make("td", "right wide", formatSeconds(file.peak_seconds)), make("td", "wide", phaseOfPeak(file)),
      ...phases.map((phase) => makePeakCell(cellOf(file, phase)))];
  });
  const frame = make("div", "scrolls");
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "Peaks by file and phase");
  frame.append(table);
  return frame;
}

/** @param {{bytes: number, tip: string[]} | null} cell */
function makePeakCell(cell) {
  const box = make("td", "right wide", cell ? formatBytes(cell.bytes) : "");
  if (cell) box.title = cell.tip.join(" ");
  return box;
}
