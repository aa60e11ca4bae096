// @ts-check
// Starts the page: unpacks the data, makes the views, listens to the keyboard and the address.
import { choices } from "./data/choices.js";
import { Devices } from "./views/devices.js";
import { byId } from "./elements/dom.js";
import { KINDS } from "./views/kinds.js";
import { Paper } from "./print.js";
import { readAddress, Tabs, writeAddress } from "./tabs.js";
import { Views } from "./views.js";

class Page {
  /**
   * @param {Devices} devices
   * @param {import("./data/model.js").Model} model
   */
  constructor(devices, model) {
    this.devices = devices;
    this.model = model;
    this.views = this.viewsOf(model);
    this.tabs = new Tabs(() => this.show(), (tab) => this.views.isUsed(tab));
    this.frame = 0;
    this.paper = new Paper(() => ({ views: this.views, tab: this.tabs.chosen }));
    byId("theme").hidden = byId("keys").hidden = byId("copy").hidden = false;
    byId("copy").onclick = () => copyLink();
    byId("theme").onclick = () => this.switchTheme();
    byId("keys").onclick = () => byId("help").showModal();
    byId("bar").onkeydown = (/** @type {KeyboardEvent} */ event) => this.moveBar(event);
    addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("resize", () => this.later());
    addEventListener("hashchange", () => this.followAddress());
    choices.onChange = () => this.later();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    for (const link of document.querySelectorAll("[data-opens]")) {
      const target = /** @type {HTMLElement} */ (link);
      target.hidden = false;
      target.onclick = () => this.tabs.choose(target.dataset.opens || "");
    }
    this.follow();
  }

  /** @param {import("./data/model.js").Model} model of one device */
  viewsOf(model) {
    return new Views(model, (window) => this.setWindow(window), (kind) => this.setKind(kind),
      (stacked) => this.setStacked(stacked), (address) => this.chooseDevice(address));
  }

  /** The address may name another device; its data are still packed. */
  async followAddress() {
    const model = await this.devices.open(readAddress().device);
    if (model !== this.model) {
      this.model = model;
      this.views = this.viewsOf(model);
    }
    this.follow();
  }

  /** @param {string} device */
  chooseDevice(device) {
    writeAddress({ ...readAddress(), tab: this.tabs.chosen, device });
    this.followAddress();
  }

  /** Shows tab and time of the address. */
  follow() {
    const { tab, window, kind, stacked } = readAddress();
    const { model } = this;
    model.kind = KINDS.some(([one]) => one === kind) ? kind : "now";
    model.stacked = model.rowKeys.includes(stacked) ? stacked : "category";
    if (window) {
      const from = Math.floor(model.pointAt(window.from + 1e-6) / model.ratio);
      const to = Math.floor(model.pointAt(window.to - 1e-6) / model.ratio) + 1;
      model.show({ from, to: Math.max(from + 1, to) });
    } else model.show(null);
    this.tabs.choose(tab);
  }

  /** @param {{from: number, to: number} | null} window in moments */
  setWindow(window) {
    this.model.show(window);
    this.later();
  }

  /** @param {string} kind */
  setKind(kind) {
    this.model.kind = kind;
    this.later();
  }

  /** @param {string} stacked */
  setStacked(stacked) {
    this.model.stacked = stacked;
    this.later();
  }

  later() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.show());
  }

  show() {
    const { model } = this;
    const { window } = model;
    this.views.draw(this.tabs.chosen);
    writeAddress({ tab: this.tabs.chosen, device: this.devices.addressOf(model), kind: model.kind,
      stacked: model.stacked, window: window && { from: model.secondsOf(window.from), to: model.secondsOf(window.to) } });
  }

  repaint() {
    this.views.recolour();
    this.later();
  }

  switchTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    keepTheme(root.dataset.theme);
    this.repaint();
  }

  /** @param {KeyboardEvent} event */
  moveBar(event) {
    const { model } = this;
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Escape") return this.setWindow(null);
    if (!step) return;
    event.preventDefault();
    const size = model.window ? model.window.to - model.window.from : 1;
    const stride = Math.max(1, Math.round(model.momentCount / 400));
    const from = model.window ? model.window.from : model.moment;
    if (event.shiftKey) {
      return this.setWindow({ from, to: Math.min(model.momentCount, Math.max(from + 1, from + size + step * stride)) });
    }
    const moved = Math.max(0, Math.min(model.momentCount - size, from + step * stride));
    this.setWindow({ from: moved, to: moved + size });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    if (target.tagName === "INPUT") {
      if (event.key === "Escape") target.blur();
      return;
    }
    const tab = this.tabs.ofKey(event.key);
    if (tab) this.tabs.choose(tab.id);
    else if (event.key === "t" || event.key === "T") this.switchTheme();
    else if (event.key === "p" || event.key === "P") this.setWindow(null);
    else if (event.key === "?") byId("help").showModal();
    else if (event.key === "+" || event.key === "=") this.zoom(2);
    else if (event.key === "-") this.zoom(0.5);
    else if (event.key === "," || event.key === ".") this.stepEvent(event.key === "," ? -1 : 1);
    else if (event.key === "/") {
      this.find();
      event.preventDefault();
    }
  }

  /** @param {number} factor */
  zoom(factor) {
    const { zoom } = this.views.of[this.tabs.chosen];
    if (zoom) zoom.call(this.views.of[this.tabs.chosen], factor);
  }

  /** @param {number} step */
  stepEvent(step) {
    const view = this.views.of[this.tabs.chosen];
    if (view.stepEvent) view.stepEvent(step);
  }

  /** To the search of this tab, or to the one of lines. */
  find() {
    if (!this.views.of[this.tabs.chosen].search) this.tabs.choose("lines");
    const { search } = this.views.of[this.tabs.chosen];
    if (search) search.focus();
  }
}

const THEME = "peakline-theme";

/** @param {string} theme A browser may refuse to keep anything for a file. */
function keepTheme(theme) {
  try {
    localStorage.setItem(THEME, theme);
  } catch {}
}

function readTheme() {
  try {
    const theme = localStorage.getItem(THEME);
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {}
}

/** The address has all choices, so the link shows the same. */
async function copyLink() {
  const button = byId("copy");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy the address above";
  }
  setTimeout(() => (button.textContent = "Copy link"), 2000);
}

async function start() {
  readTheme();
  /** @type {Page} */
  let shown;
  const devices = new Devices((device) => shown.chooseDevice(device));
  shown = new Page(devices, await devices.open(readAddress().device));
  document.documentElement.dataset.ready = "yes";
  return shown;
}

start().catch((error) => {
  const failure = byId("failure");
  failure.hidden = false;
  failure.textContent = `The rest of this page could not be shown: ${error.message}. A current Chrome, Firefox or Safari can.`;
  throw error;
});
