// @ts-check
// The files of the page, where it was made of several: peaks by phase, and rows of each one's peak.
import { unpack } from "../data/columns.js";
import { byId } from "../elements/dom.js";

/**
 * @typedef {{name: string, bytes: number, seconds: number, step: number | null}} PhasePeak
 * @typedef {{label: string, file: string, rank: number | null, host: string, pid: number, peak_bytes: number,
 *   peak_seconds: number, phases: PhasePeak[], rows: Record<string, number[]>, rows_of_all: Record<string, number[]> | null, given: number, is_shown: boolean,
 *   coordinates: Record<string, number>}} FileOfPage
 * @typedef {{label: string, bytes_above: number, rows: [string, number][]}} Outlier
 * @typedef {{files: FileOfPage[], texts: string[], job: {missing: string, outliers: Outlier[]} | null, moved: [number, number][]}} Files
 */

/** @type {Promise<Files> | null} */
let filesOfPage = null;

/** What was compared; null where the page is of one file. Unpacked when a tab first asks. */
export function readFiles() {
  if (!byId("files")) return null;
  filesOfPage ||= unpackFiles();
  return filesOfPage;
}

async function unpackFiles() {
  const data = JSON.parse(new TextDecoder().decode(await unpack("files")));
  for (const file of data.files) {
    file.phases = file.phases.map((/** @type {any[]} */ [text, bytes, seconds, step]) => ({ name: data.texts[text], bytes, seconds, step }));
  }
  return data;
}

/**
 * "step 1 backward": where a peak of the file lies, as far as phases say.
 * @param {FileOfPage} file
 */
export function placeOfPeak(file) {
  const phase = file.phases.find((one) => one.bytes === file.peak_bytes && one.seconds === file.peak_seconds);
  return phase ? placeOfPhase(phase) : "";
}

/** @param {PhasePeak} phase */
export function placeOfPhase(phase) {
  return (phase.step === null ? "" : `step ${phase.step} `) + phase.name;
}

/**
 * Rows of a file by one key: bytes and blocks by text.
 * @param {Files} files
 * @param {FileOfPage} file
 * @param {string} by
 * @param {(text: string) => string} nameOf
 */
export function rowsOfFile(files, file, by, nameOf) {
  /** @type {Map<string, {bytes: number, count: number}>} */
  const rows = new Map();
  const flat = file.rows[by] || [];
  for (let i = 0; i < flat.length; i += 3) {
    const name = nameOf(files.texts[flat[i]]);
    const row = rows.get(name) || { bytes: 0, count: 0 };
    row.bytes += flat[i + 1];
    row.count += flat[i + 2];
    rows.set(name, row);
  }
  return rows;
}
