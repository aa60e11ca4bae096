// @ts-check
// The row of tabs, and the address, which names the open tab and the time shown.
import { byId, make, makeButton } from "./elements/dom.js";
import { TABS } from "./views.js";

export class Tabs {
  /** @param {(tab: string) => void} onChange */
  constructor(onChange) {
    this.chosen = "summary";
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
      if (!step) return;
      const at = TABS.findIndex((one) => one.id === this.chosen);
      this.choose(TABS[(at + step + TABS.length) % TABS.length].id);
      byId("tab-" + this.chosen).focus();
      event.preventDefault();
    };
  }

  /** @param {string} id */
  choose(id) {
    this.chosen = TABS.some((one) => one.id === id) ? id : "summary";
    for (const one of TABS) {
      const tab = byId("tab-" + one.id);
      byId(one.id).hidden = one.id !== this.chosen;
      tab.setAttribute("aria-selected", String(one.id === this.chosen));
      tab.tabIndex = one.id === this.chosen ? 0 : -1;
    }
    byId("tab-" + this.chosen).scrollIntoView({ block: "nearest", inline: "nearest" });
    this.onChange(this.chosen);
  }
}

/**
 * "#tab=flame&device=1&of=left&stack=line&from=0.25&to=0.3". `device` null: the first one; `kind`: of KINDS in
 * kinds.js; `stacked`: a key of the model; `window` in seconds.
 * @typedef {{tab: string, device: string | null, kind: string, stacked: string, window: {from: number, to: number} | null}} Address
 */

/** @returns {Address} */
export function readAddress() {
  const parts = location.hash.slice(1).split("&");
  const words = new Map(parts.map((part) => /** @type {[string, string]} */ (part.split("="))));
  const from = Number(words.get("from"));
  const to = Number(words.get("to"));
  const window = words.has("from") && words.has("to") && from <= to ? { from, to } : null;
  return { tab: words.get("tab") || document.body.dataset.tab || "summary", device: words.get("device") || null,
    kind: words.get("of") || "now", stacked: words.get("stack") || "category", window };
}

/** @param {Address} address */
export function writeAddress({ tab, device, kind, stacked, window }) {
  const words = [`tab=${tab}`];
  if (device !== null) words.push(`device=${device}`);
  if (kind !== "now") words.push(`of=${kind}`);
  if (stacked !== "category") words.push(`stack=${stacked}`);
  if (window) words.push(`from=${window.from.toFixed(6)}`, `to=${window.to.toFixed(6)}`);
  history.replaceState(null, "", "#" + words.join("&"));
}
