// @ts-check
// The row of tabs, and the address, which names the open tab and the time shown.
import { choices } from "./data/choices.js";
import { byId, make, makeButton } from "./elements/dom.js";
import { TABS } from "./views.js";

export class Tabs {
  /**
   * @param {(tab: string) => void} onChange
   * @param {(tab: import("./views.js").Tab) => boolean} isUsed whether a tab has something to show
   */
  constructor(onChange, isUsed) {
    this.chosen = "summary";
    this.isUsed = isUsed;
    this.onChange = onChange;
    const list = byId("tabs");
    for (const { id, text, key } of TABS) {
      const tab = makeButton(text, () => this.choose(id), "");
      tab.id = "tab-" + id;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", id);
      tab.setAttribute("aria-keyshortcuts", key);
      list.append(tab);
      byId("tab-keys").append(make("kbd", "", key), " ");
      byId(id).setAttribute("role", "tabpanel");
      byId(id).setAttribute("aria-labelledby", tab.id);
    }
    list.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!step && event.key !== "Home" && event.key !== "End") return;
      const used = TABS.filter((one) => this.isUsed(one));
      const at = used.findIndex((one) => one.id === this.chosen);
      const to = event.key === "Home" ? 0 : event.key === "End" ? used.length - 1 : (at + step + used.length) % used.length;
      this.choose(used[to].id);
      byId("tab-" + this.chosen).focus();
      event.preventDefault();
    };
  }

  /** @param {string} id */
  choose(id) {
    this.chosen = TABS.some((one) => one.id === id && this.isUsed(one)) ? id : "summary";
    for (const one of TABS) {
      const tab = byId("tab-" + one.id);
      tab.hidden = !this.isUsed(one);
      byId(one.id).hidden = one.id !== this.chosen;
      tab.setAttribute("aria-selected", String(one.id === this.chosen));
      tab.tabIndex = one.id === this.chosen ? 0 : -1;
    }
    byId("tab-" + this.chosen).scrollIntoView({ block: "nearest", inline: "nearest" });
    this.onChange(this.chosen);
  }
}

/**
 * "#tab=flame&device=1&of=left&stack=line&from=0.25&to=0.3", and the words of the views. `device` null: the first one;
 * `kind`: of KINDS in kinds.js; `stacked`: a key of the model; `window` in seconds.
 * @typedef {{tab: string, device: string | null, kind: string, stacked: string, window: {from: number, to: number} | null}} Address
 */

/** Words that come first in an address, in this order. */
const FIRST_WORDS = ["tab", "device", "of", "stack", "from", "to"];

/** Reads the address and the choices that it names. @returns {Address} */
export function readAddress() {
  choices.read(location.hash.slice(1));
  const from = Number(choices.get("from", "NaN"));
  const to = Number(choices.get("to", "NaN"));
  return { tab: choices.get("tab", document.body.dataset.tab || "summary"), device: choices.get("device") || null,
    kind: choices.get("of", "now"), stacked: choices.get("stack", "category"), window: from <= to ? { from, to } : null };
}

/**
 * Writes the address. Another tab or device is a new entry of the history, which Back leaves.
 * @param {Address} address
 */
export function writeAddress({ tab, device, kind, stacked, window }) {
  const { words } = choices;
  const set = (/** @type {string} */ word, /** @type {string | null} */ value) => (value === null ? words.delete(word) : words.set(word, value));
  set("tab", tab);
  set("device", device);
  set("of", kind === "now" ? null : kind);
  set("stack", stacked === "category" ? null : stacked);
  set("from", window && window.from.toFixed(6));
  set("to", window && window.to.toFixed(6));
  const text = "#" + choices.text(FIRST_WORDS);
  if (text === location.hash) return;
  const placeOf = (/** @type {string} */ hash) => /tab=\w+(&device=\w+)?/.exec(hash)?.[0];
  const isNew = location.hash !== "" && placeOf(text) !== placeOf(location.hash);
  history[isNew ? "pushState" : "replaceState"](null, "", text);
}
