// @ts-check
// The row of tabs, and the address, which names the open tab and the time shown.
import { choices } from "./data/choices.js";
import { byId, make, makeButton } from "./elements/dom.js";
import { TABS } from "./views.js";

// The letters p and t have other uses.
const KEYS = "1234567890abcdefghijklmnoqrsuvwxyz";

export class Tabs {
  /**
   * @param {(tab: string) => void} onChange
   * @param {(tab: import("./views.js").Tab) => boolean} isUsed whether a tab has something to show
   */
  constructor(onChange, isUsed) {
    this.chosen = "summary";
    this.isUsed = isUsed;
    this.onChange = onChange;
    /** @type {import("./views.js").Tab[]} those with something to show */
    this.used = [];
    const list = byId("tabs");
    this.buttons = new Map(TABS.map(({ id, text }) => {
      const tab = makeButton(text, () => this.choose(id), "");
      tab.id = "tab-" + id;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", id);
      byId(id).setAttribute("role", "tabpanel");
      byId(id).setAttribute("aria-labelledby", tab.id);
      return [id, tab];
    }));
    list.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!step && event.key !== "Home" && event.key !== "End") return;
      const { used } = this;
      const at = used.findIndex((one) => one.id === this.chosen);
      const to = event.key === "Home" ? 0 : event.key === "End" ? used.length - 1 : (at + step + used.length) % used.length;
      this.choose(used[to].id);
      byId("tab-" + this.chosen).focus();
      event.preventDefault();
    };
  }

  /** Every tab that is used has a key; another device may have other tabs. */
  refresh() {
    this.used = TABS.filter((one) => this.isUsed(one));
    const tabs = this.used.map(({ id }) => this.buttons.get(id));
    if (byId("tabs").childElementCount === tabs.length && tabs.every((tab) => tab.isConnected)) return;
    tabs.forEach((tab, i) => tab.setAttribute("aria-keyshortcuts", KEYS[i]));
    byId("tabs").replaceChildren(...tabs);
    byId("tab-keys").replaceChildren(...tabs.flatMap((_, i) => [make("kbd", "", KEYS[i]), " "]));
  }

  /** @param {string} key of the keyboard */
  ofKey(key) {
    return this.used[KEYS.indexOf(key)];
  }

  /** @param {string} id */
  choose(id) {
    this.refresh();
    this.chosen = this.used.some((one) => one.id === id) ? id : "summary";
    for (const one of TABS) {
      const tab = this.buttons.get(one.id);
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
  const placeOf = (/** @type {string} */ hash) => /tab=\w+(&device=[\w.]+)?/.exec(hash)?.[0];
  const isNew = location.hash !== "" && placeOf(text) !== placeOf(location.hash);
  history[isNew ? "pushState" : "replaceState"](null, "", text);
}
