// @ts-check
// The devices of the page, of one file or of several: each has data blocks of its own, unpacked when
// it is first shown.
import { readColumns, unpack } from "../data/columns.js";
import { byId, make } from "../elements/dom.js";
import { formatBytes } from "../elements/format.js";
import { Model } from "../data/model.js";

export class Devices {
  /** @param {(device: string) => void} choose called when the reader chooses */
  constructor(choose) {
    const blocks = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("script[data-device]")]);
    /** As the address has them, the one with the highest peak first. */
    this.names = blocks.map((block) => block.dataset.address || "");
    /** @type {Promise<Model>[]} */
    this.models = [];
    if (blocks.length < 2) return;
    this.select = byId("device");
    this.select.append(...blocks.map((block) => {
      const name = block.dataset.label ? `\u2068${block.dataset.label}\u2069` : nameOf(block.dataset.device || "");
      const option = make("option", "", `${name}: ${formatBytes(Number(block.dataset.peak))}`);
      option.value = block.dataset.address;
      return option;
    }));
    this.select.hidden = false;
    this.select.onchange = () => choose(this.select.value);
  }

  /**
   * Shows a device in the head and the summary, and returns its data; the first one when it is
   * not here.
   * @param {string | null} name
   */
  async open(name) {
    const at = Math.max(0, this.names.indexOf(name || ""));
    this.models[at] ||= readModel(at);
    const model = await this.models[at];
    if (this.select) this.select.value = this.names[at];
    const answers = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#summary .answer")]);
    answers.forEach((answer, i) => (answer.hidden = i !== at));
    /** @type {HTMLElement} */ (answers[at].querySelector(".hero")).after(byId("summary-time"));
    document.title = model.page.title;
    byId("facts").textContent = model.page.facts;
    byId("footer").textContent = model.page.footer;
    return model;
  }

  /** @param {Model} model shown; the address omits the first one */
  addressOf(model) {
    const name = model.page.address;
    return name === this.names[0] ? null : name;
  }
}

/** @param {string} device the number of a GPU, or memory of the host */
function nameOf(device) {
  if (device === "cpu") return "CPU memory";
  return device === "pinned" ? "Pinned memory" : `Device ${device}`;
}

/** @param {number} block */
async function readModel(block) {
  const page = JSON.parse(new TextDecoder().decode(await unpack(`names-${block}`)));
  return new Model(page, readColumns(page.columns, await unpack(`columns-${block}`)));
}
