// @ts-check
// The median of the page, as the report engine and the terminal take it.

/**
 * The number in the middle; of an even count the mean of two, rounded down; of none 0.
 * @param {number[]} numbers
 */
export function medianOf(numbers) {
  const sorted = numbers.slice().sort((a, b) => a - b);
  const count = sorted.length;
  return count ? Math.floor((sorted[(count - 1) >> 1] + sorted[count >> 1]) / 2) : 0;
}
