// @ts-check
// The tab of the flame: what it is of, search, zoom, keyboard, and what is said about it.
import { byId, hideTip, make, makeChoice, showTip } from "./dom.js";
import { Flame } from "./flame.js";
import { formatBytes, formatCount, formatShare } from "./format.js";
import { fillLegend } from "./table.js";

const FLAME_MODES = [["whole", "whole stack"], ["own", "own code"], ["module", "module first"],
  ["operator", "operator first"], ["phase", "phase first"]];

export class FlameView {
  /** @param {import("./model.js").Model} model */
  constructor(model) {
    this.model = model;
    this.mode = "whole";
    this.inverted = false;
    /** @type {Flame | null} made when it is first shown */
    this.flame = null;
    this.leftOut = 0;
    /** @type {any} */
    this.colours = null;
    this.makeTools();
  }

  makeTools() {
    const tools = make("div", "tools");
    this.search = make("input");
    this.search.type = "search";
    this.search.placeholder = "function or file";
    this.search.setAttribute("aria-label", "Find frames");
    this.found = make("span", "facts");
    this.search.oninput = () => this.show(this.colours);
    this.out = make("button", "button", "Whole program");
    this.out.type = "button";
    this.out.onclick = () => this.zoomTo(0);
    this.invert = make("button", "button", "Invert");
    this.invert.type = "button";
    this.invert.setAttribute("aria-pressed", "false");
    this.invert.onclick = () => {
      this.inverted = !this.inverted;
      this.invert.setAttribute("aria-pressed", String(this.inverted));
      this.flame = null;
      this.show(this.colours);
    };
    tools.append(this.search, makeChoice("Flame of", /** @type {any} */ (FLAME_MODES), () => this.mode, (mode) => {
      this.mode = mode;
      this.flame = null;
      this.show(this.colours);
    }), this.invert, this.out, this.found);
    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Stacks by what they hold. Arrow keys walk, Enter zooms in, Backspace zooms out. The tab Lines has the same as a table.");
    this.frameSaid = make("p", "unseen");
    this.frameSaid.setAttribute("aria-live", "polite");
    this.legend = make("ul");
    this.note = make("p", "note");
    this.note.id = "flame-sum";
    byId("flame").append(tools, this.canvas, this.frameSaid, this.legend, this.note);
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    canvas.onclick = (/** @type {MouseEvent} */ event) => {
      const node = this.flame ? this.flame.nodeAt(event) : -1;
      if (node >= 0) this.zoomTo(node);
    };
    canvas.onpointermove = (/** @type {PointerEvent} */ event) => {
      const node = this.flame ? this.flame.nodeAt(event) : -1;
      canvas.style.cursor = node >= 0 ? "pointer" : "";
      if (node < 0) return hideTip();
      showTip(event, this.textsOf(node).map((text) => ({ text })));
    };
    canvas.onpointerleave = hideTip;
    canvas.onfocus = canvas.onblur = () => this.flame && this.flame.draw(this.colours);
    canvas.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      const { flame } = this;
      if (!flame) return;
      if (event.key.startsWith("Arrow")) flame.walk(event.key);
      else if (event.key === "Enter") this.zoomTo(flame.current);
      else if (event.key === "Backspace") this.zoomTo(Math.max(0, flame.tree.parent[flame.root]));
      else return;
      event.preventDefault();
      event.stopPropagation();
      this.frameSaid.textContent = this.textsOf(flame.current).join(", ");
      flame.draw(this.colours);
    };
  }

  /**
   * @param {number} node
   * @returns {string[]}
   */
  textsOf(node) {
    const flame = /** @type {Flame} */ (this.flame);
    const { tree, names } = flame;
    const name = names[tree.name[node]];
    const bytes = tree.total[node];
    const texts = [name.function || name.file];
    if (name.file) texts.push(name.line ? `${name.file}:${name.line}` : name.file);
    const zoomed = flame.root > 0 ? `, ${formatShare(bytes / tree.total[flame.root])} of the part shown` : "";
    texts.push(`${formatBytes(bytes)}, ${formatShare(bytes / tree.total[0])} of this moment${zoomed}`);
    return texts.map((text) => text.slice(0, 400));
  }

  /** @param {number} node */
  zoomTo(node) {
    if (!this.flame) return;
    this.flame.root = node;
    this.flame.current = node;
    this.show(this.colours);
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    const { model } = this;
    if (!this.flame) {
      const { tree, names, leftOut } = model.tree(this.mode, this.inverted);
      this.flame = new Flame(this.canvas, tree, names);
      this.leftOut = leftOut;
    }
    const { flame } = this;
    flame.tree.measure(model.now.bytes, model.columns.context_category);
    if (flame.tree.total[flame.root] === 0) flame.root = 0;
    const { bytes, count } = flame.search(this.search.value);
    this.found.textContent = this.search.value.trim()
      ? `${formatCount(count)} found, ${formatBytes(bytes)}, ${formatShare(bytes / (flame.tree.total[0] || 1))}` : "";
    this.out.hidden = flame.root === 0;
    flame.draw(this.colours);
    fillLegend(this.legend, model.categories(), model.page.categories);
    const what = this.mode === "own" ? "frames outside your code" : "frames that only pass a call on";
    this.note.dataset.bytes = String(flame.tree.total[0]);
    this.note.textContent = "Widths are bytes held at the moment above. Coloured frames hold memory of one category, grey ones of several." +
      (this.leftOut ? ` Left out: ${formatCount(this.leftOut)} ${what}.` : "");
  }
}
