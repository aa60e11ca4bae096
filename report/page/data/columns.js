// @ts-check
// From the data blocks of the page to numbers. The names are those of report/render/page/page_columns.h.

/** @typedef {{name: string, coding: string, width: number, count: number}} ColumnOfPage */
/** @typedef {Record<string, Float64Array>} Columns */

/**
 * @param {string} text
 * @returns {Uint8Array}
 */
function bytesOfBase64(text) {
  const native = /** @type {any} */ (Uint8Array).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const chars = atob(text);
  const bytes = new Uint8Array(chars.length);
  for (let i = 0; i < chars.length; i++) bytes[i] = chars.charCodeAt(i);
  return bytes;
}

/**
 * The bytes of a data block; the text of the page that held them is let go.
 * @param {string} id
 */
export async function unpack(id) {
  const element = /** @type {HTMLElement} */ (document.getElementById(id));
  const packed = bytesOfBase64(/** @type {string} */ (element.textContent).trim());
  element.textContent = "";
  const stream = new Blob([/** @type {any} */ (packed)]).stream();
  const plain = stream.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/**
 * @param {ColumnOfPage} column
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function decode(column, bytes, at) {
  const { count, width, coding } = column;
  const numbers = new Float64Array(count);
  for (let plane = width - 1; plane >= 0; plane--) {
    const begin = at + plane * count;
    for (let i = 0; i < count; i++) numbers[i] = numbers[i] * 256 + bytes[begin + i];
  }
  if (coding === "plain") return numbers;
  let before = 0;
  for (let i = 0; i < count; i++) {
    const one = numbers[i];
    const signed = one % 2 ? -(one + 1) / 2 : one / 2;
    before = coding === "delta" ? before + signed : signed;
    numbers[i] = before;
  }
  return numbers;
}

/**
 * @param {ColumnOfPage[]} list
 * @param {Uint8Array} bytes
 * @returns {Columns}
 */
export function readColumns(list, bytes) {
  /** @type {Columns} */
  const columns = {};
  let at = 0;
  for (const column of list) {
    columns[column.name] = decode(column, bytes, at);
    at += column.width * column.count;
  }
  return columns;
}
