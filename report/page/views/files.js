// @ts-check
// The files of a page of several: their peaks by phase, and the rows of each peak.
import { unpack } from "../data/columns.js";
import { StepAxis, StepLevels } from "../data/step_levels.js";
import { byId } from "../elements/dom.js";

/**
 * @typedef {{name: string, bytes: number, seconds: number, step: number | null}} PhasePeak
 * @typedef {{label: string, file: string, rank: number | null, host: string, pid: number, peak_bytes: number,
 *   peak_seconds: number, phases: PhasePeak[], phase_of_peak: number | null, rows: Record<string, number[]>, given: number, device: number | string, is_shown: boolean,
 *   coordinates: Record<string, number>, by_step: import("../data/step_levels.js").LevelsOfFile | null}} FileOfPage
 * @typedef {{label: string, bytes_above: number, rows: [string, number][]}} Outlier
 * @typedef {{key: string, least: number, median: number, most: number, heaviest: string}} UnevenRow
 * @typedef {{files: FileOfPage[], texts: string[], peaks: {least: number, median_bytes: number, most: number},
 *   uneven: Record<string, number[]>, job: {missing: string, outliers: Outlier[]} | null, moved: [number, number][],
 *   reasons: [number, number][]}} Files
 */

/** @type {Promise<Files> | null} */
let filesOfPage = null;

/** The compared files, unpacked at the first call; null on a page of one file. */
export function readFiles() {
  if (!byId("files")) return null;
  filesOfPage ||= unpackFiles();
  return filesOfPage;
}

/**
 * The address of a file that this page has in full; empty: another page has it.
 * @param {FileOfPage} file
 */
export function addressOfFile(file) {
  const address = `${file.given}.${file.device}`;
  const blocks = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("script[data-address]")]);
  return blocks.some((block) => block.dataset.address === address) ? address : "";
}

/**
 * Marks the file that the other tabs show.
 * @param {Files} files
 * @param {import("../data/model.js").Model} model
 */
export function markShown({ files }, { page }) {
  if (page.file === null) return;
  for (const file of files) file.is_shown = `${file.given}.${file.device}` === page.address;
}

async function unpackFiles() {
  const data = JSON.parse(new TextDecoder().decode(await unpack("files")));
  for (const file of data.files) {
    file.phases = file.phases.map((/** @type {any[]} */ [text, bytes, seconds, step]) => ({ name: data.texts[text], bytes, seconds, step }));
  }
  return data;
}

/**
 * "step 1 backward": the phase of the peak of a file; empty if it is unknown.
 * @param {FileOfPage} file
 */
export function phaseOfPeak(file) {
  return file.phase_of_peak === null ? "" : textOfPhase(file.phases[file.phase_of_peak]);
}

/** @param {PhasePeak} phase */
export function textOfPhase(phase) {
  return (phase.step === null ? "" : `step ${phase.step} `) + phase.name;
}

/**
 * The bytes of a file by one key: by text, with texts of the same name as one.
 * @param {Files} files
 * @param {FileOfPage} file
 * @param {string} by
 * @param {(text: string) => string} nameOf
 */
export function bytesOfFile(files, file, by, nameOf) {
  /** @type {Map<string, number>} */
  const rows = new Map();
  const flat = file.rows[by] || [];
  for (let i = 0; i < flat.length; i += 2) {
    const name = nameOf(files.texts[flat[i]]);
    rows.set(name, (rows.get(name) || 0) + flat[i + 1]);
  }
  return rows;
}

/**
 * Memory of each row of a key over all files, the most uneven first.
 * @param {Files} files
 * @param {string} by
 * @returns {UnevenRow[]}
 */
export function unevenRows(files, by) {
  const flat = files.uneven[by];
  return Array.from({ length: flat.length / 5 }, (_, i) => {
    const [text, least, median, most, file] = flat.slice(5 * i, 5 * i + 5);
    return { key: files.texts[text], least, median, most, heaviest: files.files[file].label };
  });
}

/**
 * The files over each other by step, those whose steps are of one kind; null: fewer than two.
 * @param {Files} files
 * @param {FileOfPage[]} chosen
 */
export function stepsOf(files, chosen) {
  const found = chosen.filter((file) => file.by_step);
  const same = found.filter((file) => file.by_step?.one === found[0].by_step?.one);
  if (same.length < 2) return null;
  const levels = same.map((file) => new StepLevels(/** @type {import("../data/step_levels.js").LevelsOfFile} */ (file.by_step), files.texts));
  return { files: same, levels, axis: new StepAxis(levels) };
}
