// @ts-check
// Saves something that the page has made as a file. Nothing leaves this machine.
import { make } from "./dom.js";

/**
 * @param {string} name
 * @param {Blob} blob
 */
export function save(name, blob) {
  const link = make("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
