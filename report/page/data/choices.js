// @ts-check
// The choices of the reader, as words that the address keeps: only those that differ from the first
// choice. Views read them whenever they draw, so the address and the Back button show the same again.

class Choices {
  constructor() {
    /** @type {Map<string, string>} */
    this.words = new Map();
    /** Called after a change. */
    this.onChange = () => {};
  }

  /** @param {string} text "lines=file&find=attn" */
  read(text) {
    this.words = new Map(text.split("&").filter((part) => part.includes("=")).map((part) => {
      const at = part.indexOf("=");
      return [part.slice(0, at), readText(part.slice(at + 1))];
    }));
  }

  /**
   * @param {string} word
   * @param {string} [otherwise]
   */
  get(word, otherwise = "") {
    return this.words.get(word) ?? otherwise;
  }

  /**
   * @param {string} word
   * @param {string} value
   * @param {string} [otherwise] the first choice, which the address leaves out
   */
  set(word, value, otherwise = "") {
    if (value === otherwise) this.words.delete(word);
    else this.words.set(word, value);
    this.onChange();
  }

  /** @param {string[]} first words that come first */
  text(first) {
    const order = [...first.filter((word) => this.words.has(word)), ...[...this.words.keys()].filter((word) => !first.includes(word))];
    return order.map((word) => `${word}=${encodeURIComponent(this.get(word))}`).join("&");
  }
}

/** @param {string} text of an address that anyone may have written */
function readText(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const choices = new Choices();
