// @ts-check
// Numbers as the terminal shows them.

const UNITS = ["B", "KB", "MB", "GB", "TB"];

/**
 * Four digits and a unit of 1024.
 * @param {number} bytes
 */
export function formatBytes(bytes) {
  let size = Math.abs(bytes);
  let unit = 0;
  while (unit < 4 && (unit === 0 ? size >= 1024 : size >= 1023.5)) {
    size /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  return (bytes < 0 ? "\u2212" : "") + size.toFixed(digits) + " " + UNITS[unit];
}

/** @param {number} share of 1 */
export function formatShare(share) {
  if (!(share > 0)) return "0 %";
  if (share < 0.001) return "<0.1 %";
  return (share >= 0.0995 ? Math.round(share * 100) : (share * 100).toFixed(1)) + " %";
}

/** @param {number} count */
export function formatCount(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * @param {number} seconds
 * @param {number} [digits] behind the point
 */
export function formatSeconds(seconds, digits = 3) {
  return seconds.toFixed(digits) + " s";
}

/**
 * A time span, with the unit that suits it.
 * @param {number} seconds
 */
export function formatSpan(seconds) {
  if (seconds >= 1) return formatSeconds(seconds);
  return seconds >= 0.001 ? (seconds * 1000).toFixed(seconds < 0.1 ? 2 : 1) + " ms" : (seconds * 1e6).toFixed(0) + " \u00b5s";
}

/**
 * The least of 1, 2, 5, 10, 20, 50 ... that is as large as a number: the distance of ticks.
 * @param {number} number
 */
export function roundUp(number) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
  for (const one of [1, 2, 5]) if (one * power >= number) return one * power;
  return 10 * power;
}
