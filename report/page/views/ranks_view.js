// @ts-check
// The tab of ranks: the peaks of every file by phase, as a heat map and as a table.
import { byId, make, makeChoice, shortName } from "../elements/dom.js";
import { medianOf } from "../data/median.js";
import { placeOfPeak, placeOfPhase, readFiles, rowsOfFile } from "./files.js";
import { formatBytes, formatCount, formatSeconds } from "../elements/format.js";
import { HeatMap } from "../charts/heat_map.js";
import { makeAmount, makeGrower, makeHead, makePlace, ROWS_AT_FIRST } from "../elements/table.js";

const MOST_PHASES_SHOWN = 12;
const MOST_OUTLIERS_SHOWN = 5;
const UNEVEN_KEYS = ["line", "module", "operator", "category"];

export class RanksView {
  constructor() {
    /** @type {HeatMap | null} */
    this.map = null;
    /** @type {any} */
    this.colours = null;
    const files = readFiles();
    if (files) files.then((data) => this.build(data));
    else {
      byId("ranks").append(make("p", "lead", "This page is of one file. The ranks of a job stand beside each other in a page of all their files:"),
        make("pre", "", "peakline html A.peak B.peak -o both.html"));
    }
  }

  /** @param {import("./files.js").Files} data */
  build(data) {
    const files = data.files;
    const phases = [...new Set(files.flatMap((file) => file.phases.map((one) => one.name)))].slice(0, MOST_PHASES_SHOWN);
    this.canvas = make("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Peaks by file and phase. The table below has the figures.");
    const columns = [{ name: "peak", cells: files.map((file) => ({ bytes: file.peak_bytes, tip: tipOf(file.peak_bytes, file.peak_seconds, placeOfPeak(file)) })) },
      ...phases.map((name) => ({ name, cells: files.map((file) => cellOf(file, name)) }))];
    this.map = new HeatMap(this.canvas, files.map((file) => file.label), columns);
    const tools = make("div", "tools");
    tools.append(make("span", "facts", "Shade from the least to the most of"), makeChoice("Shade by", [["column", "each column"], ["all", "all"]],
      () => (/** @type {HeatMap} */ (this.map).perColumn ? "column" : "all"), (word) => {
        /** @type {HeatMap} */ (this.map).perColumn = word === "column";
        this.show(this.colours);
      }));
    byId("ranks").replaceChildren(...sayPeaks(files), ...sayJob(data), tools, this.canvas, makePeaksTable(files, phases),
      make("p", "note", "Every figure is an exact peak. Blank: the phase did not come in that file."), ...makeUneven(data));
    if (this.colours) this.show(this.colours);
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    if (this.map && this.canvas.clientWidth) this.map.draw(colours);
  }
}

/**
 * @param {number} bytes
 * @param {number} seconds
 * @param {string} place
 */
function tipOf(bytes, seconds, place) {
  return [`${formatCount(bytes)} bytes`, `at ${formatSeconds(seconds)}${place ? ", " + place : ""}`];
}

/**
 * @param {import("./files.js").FileOfPage} file
 * @param {string} name
 */
function cellOf(file, name) {
  const phase = file.phases.find((one) => one.name === name);
  return phase ? { bytes: phase.bytes, tip: tipOf(phase.bytes, phase.seconds, placeOfPhase(phase)) } : null;
}

/**
 * Least, median, most and the heaviest in words.
 * @param {import("./files.js").FileOfPage[]} files
 */
function sayPeaks(files) {
  const sorted = files.slice().sort((a, b) => a.peak_bytes - b.peak_bytes);
  const least = sorted[0];
  const median = medianOf(sorted.map((one) => one.peak_bytes));
  const most = sorted.find((one) => one.peak_bytes === sorted[sorted.length - 1].peak_bytes) || least;
  const title = make("h2", "big");
  title.append(makeAmount(most.peak_bytes), " in ", make("bdi", "", shortName(most.label)));
  const place = placeOfPeak(most);
  const lead = make("p", "lead");
  lead.append(`The highest peak of ${formatCount(files.length)}: at ${formatSeconds(most.peak_seconds)}${place ? ", " + place : ""}. `,
    "The least is ", makeAmount(least.peak_bytes), " (", make("bdi", "", shortName(least.label)), "), the median ", makeAmount(median), ".");
  const shown = files.find((one) => one.is_shown);
  const sub = make("p", "sub");
  if (shown) sub.append("The other tabs show ", make("bdi", "", shortName(shown.label)), ".");
  return [title, sub, lead];
}

/**
 * Who is missing, and who stands out with what.
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
 * What each line, module, operator or category holds over all files: those that differ most first.
 * @param {import("./files.js").Files} data
 */
function makeUneven(data) {
  const files = data.files.filter((file) => file.rows.line);
  const table = make("table", "rows uneven");
  let by = "line";
  const fill = () => {
    const held = files.map((file) => rowsOfFile(data, { ...file, rows: file.rows_of_all || file.rows }, by === "operator" ? "op" : by, (text) => text));
    const rows = [...new Set(held.flatMap((one) => [...one.keys()]))].map((key) => {
      const sizes = held.map((one) => one.get(key)?.bytes || 0);
      const sorted = sizes.slice().sort((a, b) => a - b);
      const most = sorted[sorted.length - 1];
      return { key, least: sorted[0], median: medianOf(sizes), most, heaviest: files[sizes.indexOf(most)].label };
    });
    rows.sort((a, b) => b.most - b.least - (a.most - a.least) || b.most - a.most || (a.key < b.key ? -1 : 1));
    const heads = [["Least", "right"], ["Median", "right"], ["Most", "right"], ["Most in", "wide"], [by, ""]];
    const body = make("tbody");
    const addRows = (/** @type {number} */ from, /** @type {number} */ to) => {
      for (const row of rows.slice(from, to)) {
        const line = make("tr");
        for (const bytes of [row.least, row.median, row.most]) {
          const cell = make("td", "right", formatBytes(bytes));
          cell.title = formatCount(bytes) + " bytes";
          line.append(cell);
        }
        line.append(makeHeaviest(row.heaviest), makePlace(row.key));
        body.append(line);
      }
    };
    addRows(0, ROWS_AT_FIRST);
    table.replaceChildren(makeHead(heads), body);
    if (rows.length > ROWS_AT_FIRST) table.append(makeGrower(rows.length, heads.length, addRows));
  };
  const tools = make("div", "tools");
  tools.append(make("span", "facts", "At the peak of each, the most uneven first"), makeChoice("Compare", UNEVEN_KEYS.map((key) => [key, key]), () => by, (key) => {
    by = key;
    fill();
  }));
  fill();
  return [tools, table];
}

/** @param {string} label */
function makeHeaviest(label) {
  const cell = make("td", "wide");
  cell.append(make("bdi", "", shortName(label)));
  return cell;
}

/**
 * @param {import("./files.js").FileOfPage[]} files
 * @param {string[]} phases
 */
function makePeaksTable(files, phases) {
  const table = make("table", "rows");
  const dimensions = [...new Set(files.flatMap((file) => Object.keys(file.coordinates)))];
  const heads = [["File", ""], ["Peak", "right"], ...dimensions.map((name) => [name, "right wide"]), ["At", "right wide"], ["Phase", "wide"], ...phases.map((name) => [name, "right wide"])];
  const body = make("tbody");
  const addRows = (/** @type {number} */ from, /** @type {number} */ to) => {
    for (const file of files.slice(from, to)) {
      const row = make("tr", file.is_shown ? "on" : "");
      const peak = make("td", "right", formatBytes(file.peak_bytes));
      peak.title = formatCount(file.peak_bytes) + " bytes";
      const name = makePlace(file.label);
      name.title = file.file;
      if (file.host) name.append(" ", make("span", "", `${file.host} ${file.pid}`));
      row.append(name, peak, ...dimensions.map((one) => make("td", "right wide", one in file.coordinates ? String(file.coordinates[one]) : "")),
        make("td", "right wide", formatSeconds(file.peak_seconds)), make("td", "wide", placeOfPeak(file)),
        ...phases.map((phase) => makePeakCell(cellOf(file, phase))));
      body.append(row);
    }
  };
  addRows(0, ROWS_AT_FIRST);
  table.append(makeHead(heads), body);
  if (files.length > ROWS_AT_FIRST) table.append(makeGrower(files.length, heads.length, addRows));
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
